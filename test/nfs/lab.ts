/** What a test of the lab gets: one directory, seen by two hosts. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { uniqueName } from '../../src/atomic/index.ts';

/** The lab as the suite finds it in `RWX_CACHE_NFS_LAB`. */
export interface Lab {
  /** Two mounts of one export, by two clients. */
  readonly a: string;
  readonly b: string;
  /** The export as B sees it with `actimeo=60`; only where the lab was booted. */
  readonly slowB: string | undefined;
  /** Whether clients can be cut off and the server be stopped. */
  readonly faults: boolean;
}

const VARIABLE = 'RWX_CACHE_NFS_LAB';

/** For the processes that run the suite. */
export function labEnvironment(lab: Lab): Record<string, string> {
  return { [VARIABLE]: JSON.stringify(lab) };
}

/** The lab that this process runs in. */
export function theLab(): Lab {
  const text = process.env[VARIABLE];
  if (text === undefined) throw new Error('this is a part of the NFS suite: run it by `npm run test:nfs`');
  return JSON.parse(text) as Lab;
}

/** One directory, as the clients see it. */
export interface SharedDirectory {
  readonly a: string;
  readonly b: string;
  /** B's other mount, where there is one. */
  readonly slowB: string | undefined;
}

/**
 * An empty directory that both clients see. The lab's own export ends with its machine; on given mounts the directory is removed after the test, as
 * far as that goes: these hooks run in the order in which they were made, so this one meets files that are still open, which NFS keeps as `.nfs…`.
 */
export async function withSharedDirectory(t: TestContext): Promise<SharedDirectory> {
  const lab = theLab();
  const name = uniqueName();
  await mkdir(join(lab.a, name));
  if (!lab.faults) t.after(() => rm(join(lab.a, name), { recursive: true, force: true }).catch(() => undefined));
  return { a: join(lab.a, name), b: join(lab.b, name), slowB: lab.slowB === undefined ? undefined : join(lab.slowB, name) };
}

/** Why a test that needs faults is skipped; `false` where it is not. */
export function withoutFaults(): string | false {
  return theLab().faults ? false : 'two given mounts: nothing here can be cut off or stopped';
}
