import assert from 'node:assert/strict';
import { createHash, pbkdf2, randomBytes } from 'node:crypto';
import { readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { FileSystemError } from '../../src/errors.ts';
import { BLOCK_BYTES, DownloadFile } from '../../src/http/download-file.ts';
import { startServer } from '../support/http-server.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { withTmpfs } from '../support/tmpfs.ts';
import { openFiles, quickClient, rejectionOf, settlesWithin, until } from './quick-client.ts';

const MIB = 1024 * 1024;

describe('a download', () => {
  it('gives size, SHA-256, type and final URL, for every size round the block', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (const size of [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * MIB + 17]) {
      const body = randomBytes(size);
      for (const framing of ['length', 'chunked'] as const) {
        const server = await startServer(t, { '/': { status: 302, headers: { location: '/zip' } }, '/zip': { body, framing, headers: { 'content-type': 'application/zip' } } });
        const path = join(directory, `${size}-${framing}`);
        const last: unknown[] = [];
        const result = await quickClient(t).download(`${server.origin}/`, { path }, { expectedBytes: size, onProgress: (progress) => last.splice(0, 1, progress) });
        const expected = { finalUrl: `${server.origin}/zip`, bytes: size, sha256: createHash('sha256').update(body).digest('hex'), contentType: 'application/zip' };
        assert.deepEqual(result, expected);
        assert.deepEqual(last, [{ receivedBytes: size, totalBytes: size }]);
        assert.ok((await readFile(path)).equals(body));
        assert.equal((await stat(path)).mode & 0o777, 0o600);
      }
    }
  });

  it('never writes to what is there already, nor through a link', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const server = await startServer(t, { '/': { body: 'new' } });
    await writeFile(join(directory, 'old'), 'old');
    await symlink(join(directory, 'elsewhere'), join(directory, 'link'));
    for (const name of ['old', 'link']) {
      const error = await rejectionOf(quickClient(t).download(`${server.origin}/`, { path: join(directory, name) }), FileSystemError);
      assert.deepEqual([error.systemCode, error.path], ['EEXIST', join(directory, name)]);
    }
    assert.equal(await readFile(join(directory, 'old'), 'utf8'), 'old');
    assert.equal(server.requests.length, 0);
  });

  it('keeps its memory bounded', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'zip');
    const block = Buffer.alloc(MIB);
    const blocks = 160;
    const server = await startServer(t, {
      '/': (_, response) => {
        let sent = 0;
        const more = (): void => {
          if (sent === blocks) response.end();
          else {
            sent += 1;
            response.write(block, more);
          }
        };
        more();
      },
    });
    const before = process.memoryUsage.rss();
    let most = 0;
    const { bytes } = await quickClient(t).download(`${server.origin}/`, { path }, { onProgress: () => { most = Math.max(most, process.memoryUsage.rss() - before); } });
    assert.equal(bytes, blocks * MIB);
    assert.ok(most < 120 * MIB, `${Math.round(most / MIB)} MiB more at the most, with the server in this process`);
  });

  it('on a full disk fails at once with what the disk says, whether more comes or not', async (t) => {
    const disk = await withTmpfs(t, 4 * MIB);
    if (disk === undefined) return;
    const server = await startServer(t, {
      '/': { body: Buffer.alloc(8 * MIB) },
      '/stalled': { body: Buffer.alloc(8 * MIB), stallAfter: 4 * MIB + BLOCK_BYTES } // just the block that does not fit any more,
    });
    for (const name of ['', 'stalled']) {
      const path = join(disk, `zip-${name}`);
      const work = rejectionOf(quickClient(t).download(`${server.origin}/${name}`, { path }), FileSystemError);
      assert.ok(await settlesWithin(work, 15_000), 'it does not wait for the limit of a silent body');
      const error = await work;
      assert.deepEqual([error.systemCode, error.path], ['ENOSPC', path]);
      await rm(path);
    }
    assert.equal(server.requests.length, 2, 'not retried');
    await until(() => server.openConnections() === 0, 'the connections are given up');
    assert.ok(!(await openFiles()).some((name) => name.startsWith(disk)), 'the files are closed');
  });

  it('that fails in the callback fails with its error, once', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'zip');
    const server = await startServer(t, { '/': { body: Buffer.alloc(2 * MIB) } });
    const mine = new Error('from the callback');
    const work = quickClient(t).download(`${server.origin}/`, { path }, { onProgress: () => { throw mine; } });
    await assert.rejects(work, (error) => error === mine);
    assert.equal(server.requests.length, 1);
  });
});

describe('the file', () => {
  it('takes no third block before the first one is written, so that none is written over', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'zip');
    const file = await DownloadFile.create(path);
    await file.begin(() => undefined);
    // Writes wait while all threads of libuv's pool compute something else: the slow disk of this test.
    const busy = Promise.all(Array.from({ length: 8 }, () => promisify(pbkdf2)('', '', 200_000, 32, 'sha256')));
    const blocks = [1, 2, 3, 4].map((byte) => Buffer.alloc(BLOCK_BYTES, byte));
    for (const block of blocks) await file.add(block);
    await file.finish();
    await busy;
    assert.ok((await readFile(path)).equals(Buffer.concat(blocks)));
  });
});
