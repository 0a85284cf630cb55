import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, open, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { copyTree } from '../../src/archive/index.ts';
import { hashDirectory, packageHashFromFiles } from '../../src/verify/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

async function sourceOf(t: TestContext, files: Readonly<Record<string, string>>): Promise<{ readonly root: string; readonly source: string; readonly target: string }> {
  const root = await withTemporaryDirectory(t);
  const source = join(root, 'source');
  await mkdir(source);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(source, name)), { recursive: true });
    await writeFile(join(source, name), content);
  }
  return { root, source, target: join(root, 'target') };
}

describe('copyTree', () => {
  it('copies files of any depth with the modes of a package, and hashes what it wrote', async (t) => {
    const { source, target } = await sourceOf(t, { 'terraform-provider-x': 'program', LICENSE: 'free', '.hidden/deep/file': 'z'.repeat(3_000_000), empty: '' });
    await mkdir(join(source, 'no-files'));
    await chmod(join(source, 'LICENSE'), 0o4777);
    const files = await copyTree(source, target, { isExecutable: (name) => name === 'terraform-provider-x' });
    assert.deepEqual(files.map(({ name, bytes, executable }) => [name, bytes, executable]), [['.hidden/deep/file', 3_000_000, false], ['LICENSE', 4, true], ['empty', 0, false], ['terraform-provider-x', 7, true]]);
    assert.equal(packageHashFromFiles(files), await hashDirectory(source));
    assert.equal(await hashDirectory(target), await hashDirectory(source));
    assert.equal((await stat(join(target, 'LICENSE'))).mode & 0o7777, 0o555);
    assert.equal((await stat(join(target, 'empty'))).mode & 0o7777, 0o444);
    assert.equal((await stat(join(target, 'no-files'))).mode & 0o777, 0o755);
  });

  it('makes files of links within the package, and may begin at a link', async (t) => {
    const { root, source, target } = await sourceOf(t, { 'a/real': 'content' });
    await symlink('a/real', join(source, 'relative'));
    await symlink(join(source, 'a/real'), join(source, 'absolute'));
    await symlink(source, join(root, 'link'));
    await copyTree(join(root, 'link'), target);
    assert.equal(await readFile(join(target, 'relative'), 'utf8'), 'content');
    assert.ok((await stat(join(target, 'absolute'))).isFile());
    assert.equal(await hashDirectory(target), await hashDirectory(source));
  });

  const refused: readonly (readonly [string, (source: string, root: string) => Promise<unknown>, string])[] = [
    ['a link out', (source) => symlink('/etc/passwd', join(source, 'x')), 'type'],
    ['a link to a neighbour whose name begins alike', async (source, root) => { await writeFile(join(root, 'source2'), 'x'); await symlink('../source2', join(source, 'x')); }, 'type'],
    ['a link to a directory', async (source) => symlink('a', join(source, 'x')), 'type'],
    ['a link to nowhere', async (source) => symlink('nowhere', join(source, 'x')), 'type'],
    ['a link to itself', async (source) => symlink('x', join(source, 'x')), 'type'],
    ['a FIFO', async (source) => Promise.resolve(execFileSync('mkfifo', [join(source, 'x')])), 'type'],
    ['a control character', async (source) => writeFile(join(source, 'a\nb'), ''), 'name'],
    ['a name that is not UTF-8', async (source) => writeFile(Buffer.concat([Buffer.from(`${source}/`), Buffer.from([0xff])]), ''), 'name'],
    ['names that differ in case alone', async (source) => writeFile(join(source, 'A'), ''), 'duplicate'],
  ];
  for (const [name, spoil, rule] of refused) {
    it(`refuses ${name}`, async (t) => {
      const { root, source, target } = await sourceOf(t, { 'a/file': 'x' });
      await spoil(source, root);
      await assert.rejects(copyTree(source, target), { code: 'ERR_ARCHIVE_UNSAFE', rule });
      await assert.rejects(stat(target), { code: 'ENOENT' });
    });
  }

  it('keeps to the limits', async (t) => {
    const { source, target } = await sourceOf(t, { a: 'x'.repeat(100), b: 'y' });
    await assert.rejects(copyTree(source, target, { limits: { bytes: 100 } }), { code: 'ERR_ARCHIVE_UNSAFE', rule: 'bytes' });
    await assert.rejects(copyTree(source, target, { limits: { entries: 1 } }), { code: 'ERR_ARCHIVE_UNSAFE', rule: 'entries' });
  });

  it('tells what it cannot read from what it cannot write', async (t) => {
    const { source, target } = await sourceOf(t, {});
    const sourceError = (): Error => new Error('the source');
    await assert.rejects(copyTree(join(source, 'gone'), target, { sourceError }), { message: 'the source' });
    await assert.rejects(copyTree(source, join(target, 'no/parent'), { sourceError }), { code: 'ERR_FILE_SYSTEM' });
    await assert.rejects(copyTree(join(source, 'gone'), target), { code: 'ERR_FILE_SYSTEM', systemCode: 'ENOENT' });
  });

  it('notices what is changed while it copies', async (t) => {
    const { source, target } = await sourceOf(t, { large: 'x'.repeat(8_000_000) });
    const spoilers: readonly (() => Promise<unknown>)[] = [
      async () => { const handle = await open(join(source, 'large'), 'r+'); await handle.truncate(1000); await handle.close(); },
      async () => writeFile(join(source, 'another'), 'x'),
    ];
    for (const [index, spoil] of spoilers.entries()) {
      await writeFile(join(source, 'large'), 'x'.repeat(8_000_000));
      let done: Promise<unknown> | undefined;
      await assert.rejects(async () => { await copyTree(source, `${target}${index}`, { onProgress: () => { done ??= spoil(); }, durable: true }); await done; }, { code: 'ERR_ARCHIVE_INVALID', problem: /changed it/u });
      await done;
    }
  });

  it('ends with its signal', async (t) => {
    const { source, target } = await sourceOf(t, { large: 'x'.repeat(8_000_000) });
    const stop = new AbortController();
    const reason = new Error('enough');
    await assert.rejects(copyTree(source, target, { signal: stop.signal, onProgress: () => { stop.abort(reason); } }), reason);
  });
});
