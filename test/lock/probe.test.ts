import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FileSystemError, InvalidOptionError } from '../../src/errors.ts';
import { probeLocking } from '../../src/lock/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

describe('probeLocking', () => {
  it('finds locks of this host on a local disk, and leaves nothing behind', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const { kernel, reason } = await probeLocking(directory);
    assert.equal(kernel, 'host');
    assert.match(reason ?? '', /local/u);
    assert.deepEqual(await readdir(directory), []);
  });

  it('finds none, and says why, where the addon is missing', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const program = `
      import { probeLocking } from ${JSON.stringify(new URL('../../src/lock/index.js', import.meta.url).href)};
      console.log(JSON.stringify(await probeLocking(${JSON.stringify(directory)})));`;
    const preload = new URL('./fixtures/without-addon.js', import.meta.url).href;
    const child = spawn(process.execPath, ['--import', preload, '--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [text] = (await once(child.stdout, 'data')) as [Buffer];
    const { kernel, reason } = JSON.parse(text.toString()) as { kernel: string; reason: string };
    assert.equal(kernel, 'none');
    assert.match(reason, /fs-native-extensions/u);
  });

  it('says that a mount does not answer, instead of hanging', async (t) => {
    const directory = await withTemporaryDirectory(t);
    assert.deepEqual(await probeLocking(directory, { timeoutMs: 0 }), { kernel: 'none', reason: 'the mount did not answer within 0 ms' });
  });

  it('rejects for a directory that is missing, for an abort, and for a limit that is none', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await assert.rejects(probeLocking(join(directory, 'missing')), FileSystemError);
    const reason = new Error('enough');
    await assert.rejects(probeLocking(directory, { signal: AbortSignal.abort(reason) }), reason);
    await assert.rejects(probeLocking(directory, { timeoutMs: -1 }), InvalidOptionError);
  });
});
