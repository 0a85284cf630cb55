/** The last part of the demo: a real `terraform` or `tofu` that installs from the cache, where there is one. */
import { findClient, init, makeWorkingDirectory, readLockFile } from '../support/terraform.ts';
import { section, table, type Expectation } from './report.ts';

/** What is installed, and from where. */
export interface InitScene {
  /** A working directory that does not exist yet. */
  readonly directory: string;
  /** The tree of the cache in the clients' layout. */
  readonly mirror: string;
  readonly source: string;
  readonly version: string;
  /** The hash that the lock file has to have. */
  readonly h1: string;
  readonly print: (text: string) => void;
}

/** Runs it, shows its lock file's h1 beside ours, and answers what had to hold. */
export async function showInit({ directory, mirror, source, version, h1, print }: InitScene): Promise<Expectation[]> {
  const client = findClient('terraform', 'tofu');
  if (client === undefined) {
    print(section('A real init', ['There is neither terraform nor tofu on the PATH: this part is left out.']));
    return [];
  }
  const name = `${client.name} ${client.version}`;
  await makeWorkingDirectory(directory, [{ source, version }]);
  const result = await init(client, directory, { configuration: { mirror } });
  if (result.code !== 0) {
    print(section(`${name} init, from this cache and nothing else`, result.output.trimEnd().split('\n')));
    return [{ what: `${name} init installs from the cache`, holds: false }];
  }
  const installed = result.output.split('\n').filter((line) => line.startsWith('- Install'));
  const hashes = (await readLockFile(directory)).find((locked) => locked.source === source)?.hashes ?? [];
  const rows = table([...hashes.map((hash) => [hash, 'in its .terraform.lock.hcl']), [h1, 'ours']]);
  print(section(`${name} init, from this cache and nothing else`, [...installed, ...rows]));
  return [{ what: `${name} init installs from the cache, and its lock file has our h1`, holds: hashes.includes(h1) }];
}
