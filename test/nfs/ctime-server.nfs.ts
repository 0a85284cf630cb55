/**
 * A server whose change attribute is only the ctime: of two changes within one tick of its clock a client sees the first one, and goes on believing
 * what it missed between them. A changes a directory, B asks for a name in it, A publishes that name, all within one tick.
 */
import assert from 'node:assert/strict';
import { closeSync, mkdirSync, openSync, renameSync, statSync, writeFileSync, type BigIntStats } from 'node:fs';
import { rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { publishDirectory, statFresh, uniqueName, writeFileAtomic } from '../../src/atomic/index.ts';
import { openCache, THING, THING_PATH, withRegistry } from '../cache/support.ts';
import { exportWithCtimeOnly, withoutXfs } from './ctime-export.ts';
import { theLab, withoutFaults } from './lab.ts';
import { EXPORT } from './server.ts';

const skip = withoutFaults() === false ? withoutXfs() : withoutFaults();
const NAME = 'ctime-only';
if (skip === false) exportWithCtimeOnly(join(EXPORT, NAME));

/** An empty directory on that server, as the clients have it. */
function withDirectory(): { readonly a: string; readonly b: string } {
  const [lab, name] = [theLab(), uniqueName()];
  mkdirSync(join(lab.a, NAME, name));
  return { a: join(lab.a, NAME, name), b: join(lab.b, NAME, name) };
}

/** A fresh look, by calls that wait for nothing else: the directory is opened anew first. */
function look(path: string): BigIntStats | undefined {
  closeSync(openSync(dirname(path), 'r'));
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}

/** More than enough: a round of four calls does not always fit into a tick, but mostly does. */
const ROUNDS = 200;

/** Moves what A has at `path` away and back until B does not see that it is back. */
async function untilMissed(t: TestContext, shared: { readonly a: string; readonly b: string }, path: string): Promise<void> {
  const [a, b, aside] = [join(shared.a, path), join(shared.b, path), join(shared.a, `aside-${uniqueName()}`)];
  for (let rounds = 1; rounds <= ROUNDS; rounds += 1) {
    renameSync(a, aside);
    // The next tick.
    await setTimeout(20);
    mkdirSync(join(dirname(a), `other-${uniqueName()}`));
    look(b);
    renameSync(aside, a);
    if (look(b) === undefined) {
      t.diagnostic(`missed in round ${rounds}`);
      return;
    }
  }
  assert.fail(`B saw every one of ${ROUNDS} publications: the calls are too slow for one tick`);
}

describe('a server that shows only ticks', { skip }, () => {
  it('lets ensure meet what was published, without a second download, and then all others on its host', async (t) => {
    const shared = withDirectory();
    const registry = await withRegistry(t);
    const a = await openCache(t, registry, { directory: join(shared.a, 'cache') });
    await a.ensure(THING);
    for (let round = 0; round < 3; round += 1) {
      const b = await openCache(t, registry, { directory: join(shared.b, 'cache') });
      await untilMissed(t, shared, join('cache', THING_PATH));
      assert.equal((await b.ensure(THING)).outcome, 'joined');
      const other = await openCache(t, registry, { directory: join(shared.b, 'cache') });
      assert.equal((await other.lookup(THING))?.outcome, 'hit');
    }
    assert.equal(registry.count('zip'), 1);
  });

  it('lets the second publisher of a directory see the first', async (t) => {
    const shared = withDirectory();
    mkdirSync(join(shared.a, 'target', 'content'), { recursive: true });
    mkdirSync(join(shared.b, 'staged', 'content'), { recursive: true });
    await untilMissed(t, shared, 'target');
    assert.deepEqual(await publishDirectory(join(shared.b, 'staged'), join(shared.b, 'target')), { published: false });
    assert.equal((await statFresh(join(shared.b, 'target')))?.ino, statSync(join(shared.a, 'target'), { bigint: true }).ino);
  });

  it('lets the second publisher of a file see the first', async (t) => {
    const shared = withDirectory();
    writeFileSync(join(shared.a, 'target'), 'first');
    await untilMissed(t, shared, 'target');
    assert.deepEqual(await writeFileAtomic(join(shared.b, 'target'), 'second', { ifExists: 'keep' }), { published: false });
    assert.equal((await statFresh(join(shared.b, 'target')))?.size, 5n);
  });

  it('is needed: a fresh look goes on missing what a rename onto it says is there', async (t) => {
    const shared = withDirectory();
    mkdirSync(join(shared.a, 'target', 'content'), { recursive: true });
    mkdirSync(join(shared.b, 'staged'));
    await untilMissed(t, shared, 'target');
    for (let looks = 0; looks < 20; looks += 1) {
      assert.equal(await statFresh(join(shared.b, 'target')), undefined);
      await setTimeout(20);
    }
    await assert.rejects(rename(join(shared.b, 'staged'), join(shared.b, 'target')), { code: /^(?:EEXIST|ENOTEMPTY)$/u });
    assert.equal(await statFresh(join(shared.b, 'target')), undefined);
  });
});
