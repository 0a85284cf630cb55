import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { leftovers, openCache, THING, THING_PATH, withCache } from './support.ts';

const PARTS = ['staging', 'records', 'locks', 'trash', 'presence', 'pins', 'format', '.'];

describe('a state directory of which somebody has cleared away parts', () => {
  for (const part of PARTS) {
    it(`is made whole by the next installation: state/${part}`, async (t) => {
      const { cache, directory, registry } = await withCache(t, { cache: { settleMs: 20 } });
      await cache.ensure(THING);
      await rm(join(directory, 'state', part), { recursive: true, force: true });
      await rm(join(directory, THING_PATH), { recursive: true });
      assert.equal((await cache.ensure(THING)).outcome, 'installed');

      // Another process, that opens the cache as it finds it, and meets a damaged entry: this takes the trash as well.
      await rm(join(directory, 'state', part), { recursive: true, force: true });
      await rm(join(directory, THING_PATH, 'LICENSE'));
      const other = await openCache(t, registry, { directory, settleMs: 20, verifyOnHit: 'hash' });
      assert.equal((await other.ensure(THING)).outcome, 'repaired');
      await other.close();
      assert.deepEqual((await leftovers(directory)).filter((path) => path.startsWith('state/staging')), []);
    });
  }
});

/** What may stand in the place of a record, or in one. The second word says what the next call makes of it. */
const ODD_RECORDS: readonly (readonly [what: string, outcome: 'hit' | 'adopted', spoil: (file: string) => Promise<unknown>])[] = [
  ['a directory', 'adopted', async (file) => mkdir(file)],
  ['a symlink to itself', 'adopted', async (file) => symlink(file, file)],
  ['a FIFO', 'adopted', (file) => Promise.resolve(execFileSync('mkfifo', [file]))],
  ['a record with an executable that no path can name', 'adopted', async (file) => writeFile(file, renamed(await original(file), 'a\0b'))],
  ['a record with an executable whose name is too long', 'adopted', async (file) => writeFile(file, renamed(await original(file), 'a'.repeat(300)))],
  ['a record that names the directory itself', 'adopted', async (file) => writeFile(file, renamed(await original(file), '.'))],
  ['a record that names another file of the package', 'hit', async (file) => writeFile(file, renamed(await original(file), 'LICENSE'))],
];

const texts = new Map<string, string>();

function original(file: string): Promise<string> {
  return Promise.resolve(texts.get(file) ?? '');
}

function renamed(text: string, name: string): string {
  const record = JSON.parse(text) as { executable: { name: string } };
  record.executable.name = name;
  return JSON.stringify(record);
}

describe('in the place of a record', () => {
  for (const [what, outcome, spoil] of ODD_RECORDS) {
    it(`${what} wedges nothing, and misleads nobody`, { timeout: 20_000 }, async (t) => {
      const { cache, directory, registry } = await withCache(t);
      const { executable } = await cache.ensure(THING);
      const [name = ''] = await readdir(join(directory, 'state/records'));
      const file = join(directory, 'state/records', name);
      texts.set(file, await readFile(file, 'utf8'));
      await rm(file);
      await spoil(file);
      const other = await openCache(t, registry, { directory });
      assert.equal((await other.lookup(THING))?.outcome, outcome === 'hit' ? 'hit' : undefined);
      const found = await other.ensure(THING);
      assert.equal(found.outcome, outcome);
      assert.equal(found.executable, executable);
      const later = await openCache(t, registry, { directory });
      assert.equal((await later.ensure(THING)).outcome, 'hit');
    });
  }
});
