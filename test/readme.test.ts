/** Nothing in the README is untested: its programs run as they stand there, its commands and files exist. Nor in the pages of documentation/. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import * as errors from '../src/errors.ts';
import { currentPlatform } from '../src/layout/index.ts';
import { lockReach, parseMounts } from '../src/lock/mount-options.ts';
import { onClusterOrLocal } from '../src/lock/network.ts';
import { startRegistry } from './support/registry/index.ts';
import { withTemporaryDirectory } from './support/temp.ts';

const ROOT = findRoot(import.meta.dirname);
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const FILE_SYSTEMS = readFileSync(join(ROOT, 'documentation/file-systems.md'), 'utf8');

function findRoot(directory: string): string {
  return readdirSync(directory).includes('package.json') ? directory : findRoot(dirname(directory));
}

function programs(): string[] {
  return [...README.matchAll(/^```ts\n(.*?)^```$/gmsu)].map(([, text]) => String(text));
}

/** Runs a program of the README with its paths led elsewhere; it imports the package by its name, as a user would. */
async function run(t: TestContext, program: string, changes: Readonly<Record<string, string>>): Promise<string> {
  const changed = Object.entries(changes).reduce((text, [from, to]) => {
    assert.ok(text.includes(from), `the README’s program has no ${from}`);
    return text.replaceAll(from, to);
  }, program);
  // Within the project, so that its own name leads to its dist.
  const directory = await mkdtemp(join(import.meta.dirname, 'readme-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'program.mjs');
  await writeFile(file, changed);
  return (await promisify(execFile)(process.execPath, [file], { cwd: ROOT })).stdout;
}

function assertTestFilesExist(text: string): void {
  const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' }).map((path) => `test/${path}`);
  for (const [, path] of text.matchAll(/`(test\/[^`]+)`/gu)) {
    const pattern = new RegExp(`^${String(path).replaceAll('.', '\\.').replaceAll('*', '[^/]*').replace(/\/$/u, '/.+')}$`, 'u');
    assert.ok(files.some((file) => pattern.test(file)), path);
  }
}

describe('the README', () => {
  it('has a first program that works', async (t) => {
    const platform = String(currentPlatform());
    const registry = await startRegistry({ providers: [{ address: 'hashicorp/null', version: '3.2.4', platforms: [platform] }] });
    t.after(() => registry.close());
    const directory = await withTemporaryDirectory(t);
    const output = await run(t, String(programs()[0]), {
      "{ directory: '/mnt/shared/cache' }": JSON.stringify({ directory, hosts: registry.hosts('registry.opentofu.org') }),
    });
    assert.match(output, new RegExp(`${directory}/providers/registry.opentofu.org/hashicorp/null/3.2.4/${platform}`, 'u'));
    assert.match(output, /\[\s*'h1:.+',\s*'zh:[0-9a-f]{64}'\s*\]/u);
    assert.match(output, /status: 'verified'/u);
  });

  it('has a lock program that works', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const helpers = `const prepare = async ({ signal }) => console.log('prepared', signal.aborted);\nconst publish = async () => console.log('published');\n`;
    const output = await run(t, `${helpers}${String(programs()[1])}`, { '/mnt/shared/deploy.lock': join(directory, 'deploy.lock') });
    assert.equal(output, 'prepared false\npublished\n');
    assert.equal(programs().length, 2);
  });

  it('names commands that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
    const named = [...README.matchAll(/npm (?:run (\S+?)|(test))(?=[`\s]|$)/gmu)].map(([, script, test]) => script ?? String(test));
    assert.ok(named.length >= 4);
    for (const name of named) assert.ok(name in scripts, name);
  });

  it('names test files that exist', () => {
    assertTestFilesExist(README);
  });

  it('links to files that exist', () => {
    const links = [...README.matchAll(/\]\((?!https?:)([^)#]+)\)/gu)].map(([, path]) => String(path));
    assert.ok(links.includes('documentation/file-systems.md'));
    for (const path of links) assert.ok(existsSync(join(ROOT, path)), path);
  });

  it('names subpaths that exist', async () => {
    const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: Record<string, unknown> };
    for (const [, name] of README.matchAll(/`rwx-cache\/(\w+)`/gu)) assert.ok(`./${String(name)}` in exports, name);
    assert.deepEqual(Object.keys((await import('rwx-cache/errors')) as object).sort(), Object.keys(errors).sort());
  });
});

describe('the page on file systems', () => {
  /** What the library does with a mount of this type and option, in the words of the page. */
  async function treatmentOf(type: string, option: string): Promise<string> {
    const [mount] = parseMounts(`40 27 0:50 / /mnt/cache rw - ${type} source ${option}`);
    assert.ok(mount);
    const network = (): Promise<boolean> => Promise.resolve(true);
    try {
      await onClusterOrLocal('/mnt/cache/lock', network, () => Promise.resolve(mount));
      return lockReach(mount).warnings.length > 0 ? 'told of' : 'fine';
    } catch (error) {
      assert.ok(error instanceof errors.LockUnsupportedError);
      return 'refused';
    }
  }

  it('says of each mount option what the library does with it', async () => {
    const rows = [...FILE_SYSTEMS.matchAll(/^\| ([\w.]+) \| `([^`]+)` \| (advised|fine|told of|refused) \|/gmu)];
    assert.ok(rows.length > 20);
    for (const [, type, option, said] of rows) {
      assert.equal(await treatmentOf(String(type), String(option)), said === 'advised' ? 'fine' : said, `${String(type)} ${String(option)}`);
    }
  });

  it('names test files that exist', () => {
    assertTestFilesExist(FILE_SYSTEMS);
    assert.ok([...FILE_SYSTEMS.matchAll(/`test\//gu)].length > 20);
  });

  it('has the event and the warning by the names that are used', () => {
    const source = readFileSync(join(ROOT, 'src/cache/mount-advice.ts'), 'utf8');
    for (const name of ['cache:mount-warning', 'RwxCacheWarning', 'RWX_CACHE_MOUNT']) assert.ok(source.includes(`'${name}'`) && FILE_SYSTEMS.includes(name), name);
  });
});
