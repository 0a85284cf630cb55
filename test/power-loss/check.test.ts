/** The check that follows a power cut finds nothing where nothing is wrong, and each thing that can be. */
import assert from 'node:assert/strict';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { makeDirectories } from '../../src/atomic/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { checkRound } from './check.ts';
import { contentOf, DIRECTORY_FILES, HOST, originOf, PLATFORM } from './content.ts';
import { openCache, withPackage } from './packages.ts';
import { parseLine, type Kind, type Place, type Told } from './protocol.ts';

const TOLD: readonly Told[] = (
  [
    ['file', 'new-0-0'],
    ['file', 'replaced-0-0'],
    ['directory', 'flat-0'],
    ['directory', 'nested-2/deep'],
    ['package', 'round7/1.0.0'],
  ] satisfies [Kind, string][]
).map(([kind, name]) => ({ line: 'told', kind, name, by: 0, generation: 0, published: true }));

const ENTRY = `providers/${HOST}/acme/round7/1.0.0/${PLATFORM}`;

/** Everything that was told, whole. */
async function withWholeRound(t: TestContext): Promise<Place> {
  const directory = await withTemporaryDirectory(t);
  const place = { round: 7, home: join(directory, 'home'), cache: join(directory, 'cache') };
  for (const name of ['files', 'directories', 'staging']) await makeDirectories(join(place.home, name));
  for (const { kind, name } of TOLD) {
    if (kind === 'file') await writeFile(join(place.home, 'files', name), contentOf(name, { by: 0, generation: 0 }));
    if (kind === 'directory') await writeDirectory(join(place.home, 'directories'), name, 0);
  }
  const { cache, registry } = await openCache(place.cache, {});
  await cache.ensure(await withPackage(registry, 'round7', '1.0.0'));
  await cache.close();
  await registry.close();
  return place;
}

async function writeDirectory(directories: string, name: string, by: number): Promise<void> {
  for (const file of DIRECTORY_FILES) {
    const path = join(directories, name, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, contentOf(`${name}/${file}`, { by, generation: 0 }));
  }
}

async function found(place: Place): Promise<string[]> {
  return [...new Set((await checkRound(place, TOLD, [])).map(({ kind, of }) => `${kind} ${of}`))];
}

describe('the check after a power cut', () => {
  it('finds nothing where all that was told is there, and sweeps what the dead have left', async (t) => {
    const place = await withWholeRound(t);
    await writeFile(join(place.home, 'files', `.new-0-1.${'0'.repeat(32)}.tmp`), '');
    await mkdir(join(place.home, 'staging', '0'.repeat(32)));
    await mkdir(join(place.cache, 'state', 'staging', `${'1'.repeat(32)}.${'0'.repeat(32)}`));
    assert.deepEqual(await found(place), []);
    assert.deepEqual((await readdir(join(place.home, 'files'))).sort(), ['new-0-0', 'replaced-0-0']);
  });

  it('finds missing files, directories and packages', async (t) => {
    const place = await withWholeRound(t);
    await rm(join(place.home, 'files', 'new-0-0'));
    await rm(join(place.home, 'directories', 'nested-2'), { recursive: true });
    await rm(join(place.cache, ENTRY), { recursive: true });
    assert.deepEqual(await found(place), ['missing file', 'missing directory', 'missing package']);
  });

  it('finds what is visible and not whole, told or not', async (t) => {
    const place = await withWholeRound(t);
    await writeFile(join(place.home, 'files', 'new-1-5'), '');
    await writeFile(join(place.home, 'directories', 'flat-0', 'sub/two'), contentOf('flat-0/sub/two', { by: 1, generation: 0 }));
    await rm(join(place.cache, ENTRY, 'LICENSE'));
    const kinds = await found(place);
    for (const kind of ['broken file', 'broken directory', 'broken package']) assert.ok(kinds.includes(kind), kind);
  });

  it('finds an older generation than was told, and names that no reader should see', async (t) => {
    const place = await withWholeRound(t);
    const newer = TOLD.map((told) => (told.name === 'replaced-0-0' ? { ...told, generation: 8 } : told));
    await mkdir(join(place.cache, dirname(ENTRY), 'linux_amd64.tmp'));
    const findings = await checkRound(place, newer, []);
    assert.deepEqual(findings.map(({ kind, of }) => `${kind} ${of}`), ['missing file', 'temporary package']);
  });

  it('finds a lost record, and a package of an earlier round that is gone', async (t) => {
    const place = await withWholeRound(t);
    const records = join(place.cache, 'state', 'records');
    for (const name of await readdir(records)) await rm(join(records, name));
    const earlier: Told = { line: 'told', kind: 'package', name: 'round6/1.0.0', by: 0, generation: 0, published: true };
    const findings = await checkRound(place, TOLD, [earlier]);
    assert.ok(findings.some(({ kind, what }) => kind === 'missing' && what.includes("verifyOnHit 'stat'")));
    assert.ok(findings.some(({ kind, what }) => kind === 'missing' && what.startsWith('round6/1.0.0')));
  });
});

describe('content and lines', () => {
  it('of a part, of two, or of another name belong to nobody', () => {
    const [one, other] = [1, 2].map((by) => contentOf('name', { by, generation: 3 }));
    assert.ok(one !== undefined && other !== undefined);
    assert.deepEqual(originOf('name', one), { by: 1, generation: 3 });
    assert.equal(originOf('other', one), undefined);
    assert.equal(originOf('name', Buffer.concat([one.subarray(0, 500), other.subarray(500)])), undefined);
    assert.equal(originOf('name', one.subarray(0, 600)), undefined);
  });

  it('that the cut has cut were told to nobody', () => {
    const line = JSON.stringify({ line: 'begun', by: 1 });
    assert.deepEqual(parseLine(line), { line: 'begun', by: 1 });
    assert.equal(parseLine(line.slice(0, -1)), undefined);
    assert.equal(parseLine('EXT4-fs (ubda): recovery complete'), undefined);
  });
});
