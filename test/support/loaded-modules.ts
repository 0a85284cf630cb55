/** What the import of a module loads, found out in a process of its own. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What an import did. */
export interface Loaded {
  /** The URLs of all scripts and modules that were compiled for it, of files only. */
  readonly urls: readonly string[];
  /** Whether it put something in the place of Node's own dispatcher of `fetch`. */
  readonly dispatcherTouched: boolean;
}

/** Imports `specifier` in a fresh process. The package's own name means `dist/`. */
export function loadedBy(specifier: string): Loaded {
  const program = fileURLToPath(new URL('./fixtures/import.js', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, specifier], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`The import of ${specifier} failed: ${stderr}`);
  return JSON.parse(stdout) as Loaded;
}

/** The names of the packages that these files belong to, sorted, each once. */
export function packagesOf(urls: readonly string[]): string[] {
  const names = urls.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//u.exec(url)?.[1]).filter((name) => name !== undefined);
  return [...new Set(names)].sort();
}
