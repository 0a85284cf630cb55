/** What an operator hears of a mount that takes guarantees away. On real mounts: test/nfs/mount-options.nfs.ts. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { adviseOnMount, adviseOnMounts } from '../../src/cache/mount-advice.ts';
import { parseMounts } from '../../src/lock/mount-options.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

interface Heard {
  readonly events: { readonly mountPoint: string; readonly type: string; readonly warnings: readonly { readonly option: string }[] }[];
  readonly warnings: (Error & { readonly code?: string; readonly detail?: string })[];
}

/** What events and warnings say of these mounts, given as type, options and mount point. */
async function hear(...mounts: readonly (readonly [string, string, string])[]): Promise<Heard> {
  const heard: Heard = { events: [], warnings: [] };
  const onEvent = (data: unknown): void => void heard.events.push(data as Heard['events'][number]);
  const onWarning = (warning: Error): void => void heard.warnings.push(warning);
  subscribe('rwx-cache:cache:mount-warning', onEvent);
  process.on('warning', onWarning);
  for (const [type, options, point] of mounts) {
    const [mount] = parseMounts(`40 27 0:50 / ${point} rw - ${type} source ${options}`);
    assert.ok(mount);
    adviseOnMount(mount);
  }
  await setImmediate();
  process.off('warning', onWarning);
  unsubscribe('rwx-cache:cache:mount-warning', onEvent);
  return heard;
}

describe('a mount that takes guarantees away', () => {
  it('is told of as an event and as a warning of the process, option by option', async () => {
    const { events, warnings } = await hear(['nfs4', 'vers=4.1,soft,nocto', '/mnt/one']);
    assert.equal(events.length, 1);
    assert.deepEqual([events[0]?.mountPoint, events[0]?.type], ['/mnt/one', 'nfs4']);
    assert.deepEqual(events[0]?.warnings.map(({ option }) => option), ['nocto', 'soft']);
    assert.equal(warnings.length, 1);
    assert.deepEqual([warnings[0]?.name, warnings[0]?.code], ['RwxCacheWarning', 'RWX_CACHE_MOUNT']);
    assert.match(String(warnings[0]?.message), /\/mnt\/one \(nfs4\)/u);
    assert.match(String(warnings[0]?.detail), /^ {2}nocto: .+\n {2}soft: .+$/u);
  });

  it('is told of once, and again when it is mounted with other options', async () => {
    const { events, warnings } = await hear(['nfs', 'vers=3', '/mnt/two'], ['nfs', 'vers=3', '/mnt/two'], ['nfs', 'vers=3,nolock', '/mnt/two'], ['nfs', 'vers=3', '/mnt/three']);
    assert.deepEqual(events.map(({ mountPoint, warnings: list }) => [mountPoint, list.length]), [['/mnt/two', 1], ['/mnt/two', 2], ['/mnt/three', 1]]);
    assert.equal(warnings.length, 3);
  });

  it('is not told of where nothing was chosen that weakens anything', async () => {
    assert.deepEqual(await hear(['nfs4', 'vers=4.2,hard', '/mnt/four'], ['fuse.sshfs', 'rw', '/mnt/five'], ['ext4', 'rw', '/mnt/six']), { events: [], warnings: [] });
  });

  it('is printed by Node for who listens to nothing', () => {
    const advice = JSON.stringify(new URL('../../src/cache/mount-advice.js', import.meta.url).href);
    const program = `import { adviseOnMount } from ${advice}; adviseOnMount({ mountPoint: '/mnt/cache', type: 'nfs4', options: new Map([['nocto', '']]) });`;
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    assert.match(stderr, /\[RWX_CACHE_MOUNT\] RwxCacheWarning: .*\/mnt\/cache.*\n {2}nocto: /u);
  });

  it('is looked for by path, and nothing fails where there is none', async (t) => {
    await adviseOnMounts(await withTemporaryDirectory(t), '/no/such/path');
  });
});
