/** Where the source tree is: tests run from an output directory somewhere in it. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The directory with the package's `package.json`. */
export function sourceTree(directory: string = import.meta.dirname): string {
  return existsSync(join(directory, 'package.json')) ? directory : sourceTree(dirname(directory));
}
