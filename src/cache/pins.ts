/**
 * Pins: marks under `state/pins/` that keep a package from being pruned while someone uses it. A pin carries the
 * presence of its process, so that it ends with it, by SIGKILL too.
 */
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectories, uniqueName, writeFileAtomic } from '../atomic/index.ts';
import { hasSystemError } from '../system-errors.ts';
import { packageKey } from './records.ts';

/** Keeps one package from being pruned, until it is released or its process ends. */
export interface Pin extends AsyncDisposable {
  /** The package's path below `providers/`. */
  readonly package: string;
  /** Gives the package free; a second call does nothing. */
  release(): Promise<void>;
}

/** Pins a package for the process with this presence. Look at the entry again afterwards: it may have gone meanwhile. */
export async function createPin(directory: string, packagePath: string, presenceId: string): Promise<Pin> {
  await makeDirectories(directory);
  const file = join(directory, `${packageKey(packagePath)}.${presenceId}.${uniqueName()}`);
  await writeFileAtomic(file, `${packagePath}\n`, { durable: false, ifExists: 'keep', mode: 0o644 });
  const release = async (): Promise<void> => {
    await unlink(file).catch((error: unknown) => {
      if (!hasSystemError(error, 'ENOENT', 'ESTALE')) throw error;
    });
  };
  return { package: packagePath, release, [Symbol.asyncDispose]: release };
}

/** The presence that a pin's file name carries; `undefined` for a name that is no pin's. */
export function pinPresence(file: string): string | undefined {
  const [key, presence, unique, ...rest] = file.split('.');
  return key !== undefined && presence !== undefined && unique !== undefined && rest.length === 0 ? presence : undefined;
}
