/**
 * Calls that the server carries out, and whose answers get lost with its restart: the client sends them again, and is told that what it has renamed is
 * not there, and what it has made is there already. All of them go through one such loss together, and each test looks at one.
 */
import assert from 'node:assert/strict';
import { existsSync, lstatSync } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { hashDirectory } from '../../src/verify/index.ts';
import { HOST, THING, THING_PATH, withRegistry } from '../cache/support.ts';
import { until } from '../lock/fixtures/until.ts';
import { startChild } from '../support/child.ts';
import { mountAs } from './client.ts';
import { loseAnswers, restartWithoutAnswers, withoutDelegations } from './faults.ts';
import type { CallersReport } from './fixtures/callers.ts';
import { answersOf, heldCalls, holdingBack, type HoldBack } from './fixtures/held-calls.ts';
import { theLab, withoutFaults, withSharedDirectory } from './lab.ts';
import { EXPORT } from './server.ts';

/** Of each call of fixtures/callers.ts, the system call that is carried out and not answered. */
const HELD: Readonly<Record<string, HoldBack>> = {
  'bare-rename': ['rename', '/bare-rename/'],
  'bare-link': ['link', '/bare-link/'],
  'bare-mkdir': ['mkdir', '/bare-mkdir/'],
  'bare-create': ['create', '/bare-create/'],
  'replace-bytes': ['rename', '/replace-bytes/'],
  'replace-stream': ['rename', '/replace-stream/'],
  'replace-open': ['rename', '/replace-open/'],
  'replace-replaced': ['rename', '/replace-replaced/'],
  keep: ['link', '/keep/'],
  'keep-another': ['link', '/keep-another/'],
  'keep-replaced': ['link', '/keep-replaced/'],
  create: ['create', '/create/'],
  publish: ['rename', '/publish/'],
  'publish-another': ['rename', '/publish-another/'],
  'publish-replaced': ['rename', '/publish-replaced/'],
  staging: ['mkdir', '/staging/[0-9a-f]{32}$'],
  directories: ['mkdir', '/directories/new$'],
  'lease-mkdir': ['mkdir', '/lease-mkdir/lock.lease/'],
  'lease-rename': ['rename', '/lease-rename/lock.lease/'],
  'lock-create': ['create', '/lock-create/'],
  'probe-mkdir': ['mkdir', '/probe-mkdir/[0-9a-f]{32}$'],
  'probe-rename': ['rename', '/probe-rename/'],
  'ensure-publish': ['rename', '/ensure-publish/providers/.*/linux_amd64$'],
  'ensure-unpack': ['mkdir', '/ensure-unpack/.*/package$'],
  'ensure-subdirectory': ['mkdir', '/ensure-subdirectory/.*/package/documents$'],
  'link-copy': ['mkdir', '/link-copy/work/.*/package/documents$'],
  'link-symlink': ['rename', '/link-symlink/work/.*/linux_amd64$'],
};

/** What another host does meanwhile to what A has just made. */
async function replaceBehind(directory: string): Promise<void> {
  await writeFile(join(directory, 'replace-replaced', 'other'), 'newer');
  await rename(join(directory, 'replace-replaced', 'other'), join(directory, 'replace-replaced', 'file'));
  await writeFile(join(directory, 'keep-replaced', 'other'), 'newer');
  await rename(join(directory, 'keep-replaced', 'other'), join(directory, 'keep-replaced', 'file'));
  await rename(join(directory, 'publish-replaced', 'target'), join(directory, 'publish-replaced', 'trash'));
  await publishAnother(join(directory, 'publish-replaced'));
}

async function publishAnother(directory: string): Promise<void> {
  await mkdir(join(directory, 'target'));
  await writeFile(join(directory, 'target', 'file'), 'another');
}

interface Outcome {
  /** What the system answered to the call that was held back. */
  readonly answers: Readonly<Record<string, string>>;
  /** What came of the library's call. */
  readonly report: CallersReport;
  /** The directory as the server has it. */
  readonly directory: string;
}

/** A link is not followed: it may lead to a mount that does not answer. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** A client lets one rename between directories of a mount through at a time. */
const MOUNTS = 3;
/** What has to get no answer is the call that is meant, and not a look at a directory of which the client knows too little by then. */
const OPTIONS = ['nosharecache', 'actimeo=600'];

/** All calls at once, the answers lost. */
async function callWithoutAnswers(t: TestContext): Promise<Outcome> {
  const lab = theLab();
  const shared = await withSharedDirectory(t);
  const directory = shared.a.replace(lab.a, EXPORT);
  const mounts = Array.from({ length: MOUNTS }, (_, index) => shared.a.replace(lab.a, mountAs({ name: 'a' }, `${lab.a}-${index}`, ...OPTIONS)));
  withoutDelegations(t);
  const registry = await withRegistry(t, {
    providers: [{ address: 'acme/thing', version: THING.version, files: { 'terraform-provider-thing_v1.2.3': { data: 'program', mode: 0o755 }, 'documents/readme': 'text' } }],
  });
  const task = { cache: { hosts: registry.hosts(HOST) }, request: THING };
  const child = startChild(t, new URL('./fixtures/callers.js', import.meta.url), [mounts.join(':'), JSON.stringify(task)], {
    env: { ...process.env, ...holdingBack(Object.values(HELD)), UV_THREADPOOL_SIZE: '64' },
  });
  const held = await heldCalls(child, Object.keys(HELD).length);
  await publishAnother(join(directory, 'publish-another'));
  await writeFile(join(directory, 'keep-another', 'file'), 'another');

  loseAnswers('a');
  child.process.kill('SIGUSR2');
  const isDone = ({ call, from, to }: (typeof held)[number]): boolean => (call === 'rename' ? !isThere(onServer(from)) : isThere(onServer(to)));
  const onServer = (path: string): string => path.replace(/^.*?(?=\/[0-9a-f]{32})/u, EXPORT);
  await until(() => held.filter(({ to }) => !/\/(?:publish-another|replace-open)\//u.test(to)).every(isDone), 'the server has carried out all calls');
  await replaceBehind(directory);
  await restartWithoutAnswers('a');
  // Whatever is sent next meets a server that knows nothing of the connection.
  await stat(join(lab.a, 'is not there')).catch(() => undefined);

  const answers = await answersOf(child, held.length);
  const report = (await child.message()) as CallersReport;
  return { answers: Object.fromEntries(Object.entries(HELD).map(([name, [, path]]) => [name, answers.get(path) ?? 'none'])), report, directory };
}

describe('a call that the server has carried out and did not answer', { skip: withoutFaults() }, () => {
  it('is sent again', async (t) => {
    const { answers, report, directory } = await callWithoutAnswers(t);
    const contentOf = (path: string): Promise<string> => readFile(join(directory, path), 'utf8');

    await t.test('is needed: a bare rename says ENOENT, a bare link and mkdir EEXIST, though each did what it was asked', () => {
      assert.deepEqual([answers['bare-rename'], answers['bare-link'], answers['bare-mkdir']], ['ENOENT', 'EEXIST', 'EEXIST']);
      assert.deepEqual([report['bare-rename'], report['bare-link'], report['bare-mkdir']], ['ENOENT', 'EEXIST', 'EEXIST']);
      for (const name of ['bare-rename', 'bare-link', 'bare-mkdir']) assert.ok(existsSync(join(directory, name, 'new')), name);
    });

    await t.test('an exclusive create is right by itself', () => {
      assert.deepEqual([answers['bare-create'], answers['create'], answers['lock-create']], ['done', 'done', 'done']);
      assert.deepEqual(report['create'], { published: true });
      assert.equal(report['lock-create'], 'held');
    });

    for (const name of ['replace-bytes', 'replace-stream']) {
      await t.test(`a file that was replaced is published: ${name}`, async () => {
        assert.equal(answers[name], 'ENOENT');
        assert.deepEqual(report[name], { published: true, seen: 'new' });
        assert.equal(await contentOf(`${name}/file`), 'new');
      });
    }

    await t.test('a file that was replaced while this host had it open is published: there the client’s own rename of the old one got no answer', async () => {
      assert.deepEqual(report['replace-open'], { published: true, seen: 'new' });
      assert.equal(await contentOf('replace-open/file'), 'new');
      assert.deepEqual(await readdir(join(directory, 'replace-open')), ['file']);
    });

    await t.test('a file that was replaced, and by another host once more: nobody can tell, and it is no success', async () => {
      assert.equal(answers['replace-replaced'], 'ENOENT');
      assert.equal(report['replace-replaced'], 'ERR_FILE_SYSTEM');
      assert.equal(await contentOf('replace-replaced/file'), 'newer');
    });

    await t.test('a file that was published as the first is published', async () => {
      assert.equal(answers['keep'], 'EEXIST');
      assert.deepEqual(report['keep'], { published: true });
      assert.equal(await contentOf('keep/file'), 'new');
      assert.deepEqual(await readdir(join(directory, 'keep')), ['file']);
    });

    await t.test('a file that another host had published is kept, and so is one that it has put in the place since', async () => {
      for (const name of ['keep-another', 'keep-replaced']) {
        assert.equal(answers[name], 'EEXIST');
        assert.deepEqual(report[name], { published: false });
      }
      assert.equal(await contentOf('keep-another/file'), 'another');
      assert.equal(await contentOf('keep-replaced/file'), 'newer');
    });

    await t.test('a directory that was published is published', async () => {
      assert.equal(answers['publish'], 'ENOENT');
      assert.deepEqual(report['publish'], { published: true });
      assert.equal(await contentOf('publish/target/file'), 'new');
    });

    await t.test('a directory that another host had published is kept; one that it has put in the place since is not taken for ours', async () => {
      assert.equal(answers['publish-another'], 'ENOTEMPTY');
      assert.deepEqual(report['publish-another'], { published: false });
      assert.equal(await contentOf('publish-another/target/file'), 'another');
      assert.equal(answers['publish-replaced'], 'ENOENT');
      assert.equal(report['publish-replaced'], 'ERR_STAGING_LOST');
      assert.equal(await contentOf('publish-replaced/target/file'), 'another');
    });

    await t.test('a staging directory is used, and removed', async () => {
      assert.equal(answers['staging'], 'EEXIST');
      assert.equal(report['staging'], 'used');
      assert.deepEqual(await readdir(join(directory, 'staging')), []);
    });

    await t.test('directories are made', () => {
      assert.equal(answers['directories'], 'EEXIST');
      assert.equal(report['directories'], undefined);
      assert.ok(existsSync(join(directory, 'directories/new/and/below')));
    });

    for (const [name, answer] of [['lease-mkdir', 'EEXIST'], ['lease-rename', 'ENOENT']] as const) {
      await t.test(`a lease is held by whoever claimed it, and leaves nothing: ${name}`, async () => {
        assert.equal(answers[name], answer);
        assert.equal(report[name], 'held');
        assert.deepEqual(await readdir(join(directory, name, 'lock.lease')), []);
      });
    }

    for (const [name, answer] of [['probe-mkdir', 'EEXIST'], ['probe-rename', 'ENOENT']] as const) {
      await t.test(`a rename between directories is possible, and its probe leaves nothing: ${name}`, async () => {
        assert.equal(answers[name], answer);
        assert.equal(report[name], true);
        assert.deepEqual(await readdir(join(directory, name)), ['to']);
        assert.deepEqual(await readdir(join(directory, name, 'to')), []);
      });
    }

    for (const [name, answer] of [['ensure-publish', 'ENOENT'], ['ensure-unpack', 'EEXIST'], ['ensure-subdirectory', 'EEXIST']] as const) {
      await t.test(`a package is installed: ${name}`, async () => {
        assert.equal(answers[name], answer);
        assert.equal(report[name], 'installed');
        assert.equal(await hashDirectory(join(directory, name, THING_PATH)), await hashDirectory(join(directory, 'ensure-publish', THING_PATH)));
        assert.deepEqual(await readdir(join(directory, name, 'state/staging')), []);
      });
    }

    for (const [name, answer] of [['link-copy', 'EEXIST'], ['link-symlink', 'ENOENT']] as const) {
      await t.test(`a package is put into a working directory: ${name}`, async () => {
        assert.equal(answers[name], answer);
        assert.equal(report[name], 'linked');
        const entry = join(directory, name, 'work', THING_PATH.replace('providers/', ''));
        if (name === 'link-copy') assert.equal(await hashDirectory(entry), await hashDirectory(join(directory, name, 'cache', THING_PATH)));
        else assert.ok((await lstat(entry)).isSymbolicLink());
      });
    }
  });
});
