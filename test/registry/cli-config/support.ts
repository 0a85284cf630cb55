/** A home directory of its own for tests of the CLI configuration, and credentials helpers that are real programs in it. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { loadCliConfig, type CliConfig, type LoadCliConfigOptions } from '../../../src/registry/index.ts';
import { withTemporaryDirectory } from '../../support/temp.ts';

export interface Home {
  readonly path: string;
  /** Writes a file below it, with its directories. */
  write(name: string, text: string): Promise<string>;
  /** Loads the configuration of this home, with nothing but these variables. */
  load(environment?: Record<string, string>, options?: Partial<LoadCliConfigOptions>): Promise<CliConfig>;
  /** Installs a shell script as a credentials helper. */
  helper(name: string, script: string): Promise<string>;
}

export async function makeHome(t: TestContext): Promise<Home> {
  const path = await withTemporaryDirectory(t);
  const write = async (name: string, text: string): Promise<string> => {
    const file = join(path, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    return file;
  };
  return {
    path,
    write,
    load: (environment = {}, options = {}) => loadCliConfig({ environment, homeDirectory: path, workingDirectory: path, ...options }),
    helper: async (name, script) => {
      const file = await write(join('.terraform.d/plugins', name), `#!/bin/sh\n${script}\n`);
      await chmod(file, 0o755);
      return file;
    },
  };
}
