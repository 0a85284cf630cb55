/** `npm run demo`: eight processes, one package, one download; then a real `init` that installs from the cache. */
import { rmSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ProviderCache, type ProviderCacheOptions } from '../../src/index.ts';
import { hashDirectory } from '../../src/verify/index.ts';
import { HOST } from '../cache/support.ts';
import type { EmbeddedRegistry } from '../support/registry/index.ts';
import { parseDemoArguments, USAGE, UsageError, type DemoArguments } from './arguments.ts';
import { askAtOnce } from './crowd.ts';
import { showInit } from './init.ts';
import { startDemoRegistry } from './provider.ts';
import { checklist, permissions, section, size, table, tree, type Expectation, type TreeFile } from './report.ts';
import type { WorkerAnswer, WorkerPackage } from './worker.ts';

const PROCESSES = 8;

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function demo(args: DemoArguments, temporary: string): Promise<boolean> {
  const registry = args.registry === undefined ? await startDemoRegistry(args.version) : undefined;
  try {
    const directory = resolve(args.directory ?? join(temporary, 'cache'));
    const options: ProviderCacheOptions = { directory, hosts: registry?.hosts(HOST) };
    print(section(`${PROCESSES} processes ask for one package at once`, introduction(args, registry, directory)));

    const present = await isPresent(options, args);
    const answers = await askAtOnce(PROCESSES, { cache: options, request: { source: args.source, version: args.version } });
    print(section('What each process saw', sightings(answers)));

    const [found] = answers.flatMap((answer) => answer.package ?? []);
    if (found === undefined) return conclude([{ what: 'the package was installed', holds: false }]);
    const expectations = expectOutcomes(answers, present);
    if (registry !== undefined) {
      const requests = served(registry);
      print(section('What the registry served', [requests.map(([route, count]) => `${count} × ${route}`).join(', ') || 'nothing']));
      const zips = registry.count('zip');
      const wanted = present ? 0 : 1;
      expectations.push({ what: present ? 'the registry served no zip' : 'the registry served the zip once', holds: zips === wanted });
    }
    print(section('The cache', tree(await filesOf(directory))));
    expectations.push({ what: 'nothing is left in staging', holds: (await readdir(join(directory, 'state', 'staging'))).length === 0 });

    const rehashed = await hashDirectory(found.path);
    print(section('Hashes', hashLines(found, rehashed)));
    expectations.push({ what: 'the files on disk have the h1 that was handed out, in every process', holds: answers.every((answer) => answer.package?.hashes.includes(rehashed) === true) });

    // From here on whatever is installed comes from the cache.
    await registry?.close();
    expectations.push(...(await showInit({ directory: join(temporary, 'work'), mirror: join(directory, 'providers'), source: args.source, version: found.version, h1: rehashed, print })));
    return conclude(expectations);
  } finally {
    await registry?.close();
  }
}

function introduction(args: DemoArguments, registry: EmbeddedRegistry | undefined, directory: string): string[] {
  const release = registry?.releases[0];
  const zip = release === undefined ? undefined : [...release.packages.values()][0];
  return table([
    ['package', `${args.source} ${args.version}${zip === undefined ? '' : `, ${zip.platform}, a zip of ${size(zip.size)}`}`],
    ['registry', registry === undefined ? String(args.registry) : `${registry.origin}, embedded, signs with key ${release?.keys[0]?.keyId ?? '?'}`],
    ['cache', directory],
  ]);
}

async function isPresent(options: ProviderCacheOptions, { source, version }: DemoArguments): Promise<boolean> {
  const cache = await ProviderCache.open(options);
  try {
    return (await cache.lookup({ source, version })) !== undefined;
  } finally {
    await cache.close();
  }
}

function sightings(answers: readonly WorkerAnswer[]): string[] {
  const rows = answers.map(({ pid, milliseconds, package: found, error }) => ['pid', pid, found?.outcome ?? error?.code ?? '', milliseconds, 'ms']);
  const messages = new Set(answers.flatMap(({ error }) => (error === undefined ? [] : [`${error.code}: ${error.message}`])));
  return [...table(rows), ...messages];
}

function expectOutcomes(answers: readonly WorkerAnswer[], present: boolean): Expectation[] {
  const outcomes = answers.map((answer) => answer.package?.outcome);
  const installed = outcomes.filter((outcome) => outcome === 'installed' || outcome === 'repaired' || outcome === 'adopted').length;
  const shared = outcomes.filter((outcome) => outcome === 'joined' || outcome === 'hit').length;
  return present
    ? [{ what: `it was there already: all ${PROCESSES} hit`, holds: shared === PROCESSES }]
    : [{ what: `one process installed it, the other ${PROCESSES - 1} shared its work`, holds: installed === 1 && shared === PROCESSES - 1 }];
}

/** What was asked, in the order of the protocol. */
function served(registry: EmbeddedRegistry): [string, number][] {
  const names = [
    ['versions', 'list of versions'],
    ['metadata', 'package metadata'],
    ['sums', 'SHA256SUMS'],
    ['signature', 'signature'],
    ['zip', 'zip'],
  ] as const;
  return names.map(([route, name]): [string, number] => [name, registry.count(route)]).filter(([, count]) => count > 0);
}

async function filesOf(directory: string): Promise<TreeFile[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.map(async (entry): Promise<TreeFile> => {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(directory.length + 1).replaceAll('\\', '/');
    if (entry.isDirectory()) return { path: `${name}/`, note: '' };
    const stats = await stat(path);
    return { path: name, note: `${permissions(stats.mode)}  ${size(stats.size)}` };
  });
  return Promise.all(files);
}

function hashLines({ hashes, provenance: { signature } }: WorkerPackage, rehashed: string): string[] {
  const signed = signature.status === 'verified' ? `SHA256SUMS signed by ${signature.fingerprint}` : `signature: ${signature.status}`;
  const rows = hashes.map((hash) => [hash, hash.startsWith('h1:') ? 'the package, as it was handed out' : 'its zip, as it came']);
  return [...table([...rows, [rehashed, 'its files on disk, hashed again']]), signed];
}

function conclude(expectations: readonly Expectation[]): boolean {
  const good = expectations.every(({ holds }) => holds);
  print(section(good ? 'All as it should be' : 'Not as it should be', checklist(expectations)).trimEnd());
  return good;
}

async function main(): Promise<number> {
  const args = parseDemoArguments(process.argv.slice(2));
  if (args.help) {
    print(USAGE);
    return 0;
  }
  const temporary = await mkdtemp(join(tmpdir(), 'rwx-cache-demo-'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      rmSync(temporary, { recursive: true, force: true });
      process.exit(1);
    });
  }
  try {
    return (await demo(args, temporary)) ? 0 : 1;
  } finally {
    await rm(temporary, { recursive: true, force: true, maxRetries: 3 });
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  if (error instanceof UsageError) process.stderr.write(`${error.message}\n\n${USAGE}\n`);
  else process.stderr.write(`The demo failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
