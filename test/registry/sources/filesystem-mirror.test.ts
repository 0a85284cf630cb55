import assert from 'node:assert/strict';
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { parsePlatform, parseProviderAddress, parseVersion } from '../../../src/layout/index.ts';
import { filesystemMirror } from '../../../src/registry/sources/filesystem-mirror.ts';
import type { PackageSource } from '../../../src/registry/sources/source.ts';
import { withTemporaryDirectory } from '../../support/temp.ts';

/** The reference's own test tree: directories end with a slash. */
const LAYOUT = [
  'registry.opentofu.org/hashicorp/null/2.0.0/darwin_amd64/',
  'registry.opentofu.org/hashicorp/null/2.0.0/linux_amd64/',
  'registry.opentofu.org/hashicorp/null/2.0.0/windows_amd64/',
  'registry.opentofu.org/hashicorp/null/terraform-provider-null_2.1.0_linux_amd64.zip',
  'registry.opentofu.org/hashicorp/null/invalid',
  'registry.opentofu.org/hashicorp/null/terraform-provider-null_invalid.zip',
  'registry.opentofu.org/hashicorp/null/terraform-provider-null_invalid_invalid_invalid.zip',
  'registry.opentofu.org/hashicorp/random/1.2.0/linux_amd64/',
  'registry.opentofu.org/hashicorp/random-beta/1.2.0/linux_amd64/',
  'registry.opentofu.org/-/legacy/1.0.0/linux_amd64/',
  'tfe.example.com/AwesomeCorp/happycloud/0.1.0-alpha.2/darwin_amd64/',
];

/** What it holds, by the reference: provider, version, platform, where. */
const PACKAGES: readonly (readonly [string, string, string, 'directory' | 'archive-file', string])[] = [
  ['hashicorp/null', '2.0.0', 'darwin_amd64', 'directory', LAYOUT[0] ?? ''],
  ['hashicorp/null', '2.0.0', 'linux_amd64', 'directory', LAYOUT[1] ?? ''],
  ['hashicorp/null', '2.1.0', 'linux_amd64', 'archive-file', LAYOUT[3] ?? ''],
  ['hashicorp/null', '2.0.0', 'windows_amd64', 'directory', LAYOUT[2] ?? ''],
  ['hashicorp/random', '1.2.0', 'linux_amd64', 'directory', LAYOUT[7] ?? ''],
  ['hashicorp/random-beta', '1.2.0', 'linux_amd64', 'directory', LAYOUT[8] ?? ''],
  ['registry.opentofu.org/-/legacy', '1.0.0', 'linux_amd64', 'directory', LAYOUT[9] ?? ''],
  ['tfe.example.com/awesomecorp/happycloud', '0.1.0-alpha.2', 'darwin_amd64', 'directory', LAYOUT[10] ?? ''],
];

async function mirrorOf(t: TestContext, paths: readonly string[]): Promise<{ readonly root: string; readonly source: PackageSource }> {
  const root = await withTemporaryDirectory(t);
  for (const path of paths) {
    await mkdir(join(root, path.endsWith('/') ? path : dirname(path)), { recursive: true });
    if (!path.endsWith('/')) await writeFile(join(root, path), 'x');
  }
  return { root, source: filesystemMirror({ type: 'filesystem_mirror', location: root }) };
}

const wanted = (address: string, version: string, platform = 'linux_amd64') => ({ address: parseProviderAddress(address), version: parseVersion(version), platform: parsePlatform(platform) });

async function versionsOf(source: PackageSource, address: string): Promise<string[]> {
  return (await source.versions(parseProviderAddress(address), {})).versions.map(({ version }) => String(version));
}

describe('a filesystem mirror', () => {
  it('holds what the reference finds in it', async (t) => {
    const { root, source } = await mirrorOf(t, LAYOUT);
    for (const [address, version, platform, kind, path] of PACKAGES) {
      const offer = await source.offer(wanted(address, version, platform), {});
      assert.deepEqual({ kind: offer.kind, path: 'path' in offer ? offer.path : '' }, { kind, path: join(root, path).replace(/\/$/u, '') });
    }
    assert.deepEqual(await versionsOf(source, 'hashicorp/null'), ['2.0.0', '2.1.0']);
    await assert.rejects(source.offer(wanted('hashicorp/null', '2.0.0', 'nonexist_nonexist'), {}), { code: 'ERR_PLATFORM_NOT_SUPPORTED' });
    await assert.rejects(source.offer(wanted('hashicorp/null', '9.9.9'), {}), { code: 'ERR_PLATFORM_NOT_SUPPORTED', message: /filesystem_mirror/u });
    await assert.rejects(source.versions(parseProviderAddress('acme/none'), {}), { code: 'ERR_PROVIDER_NOT_FOUND', message: /filesystem_mirror/u });
  });

  it('without a level for hosts holds nothing, and that is no error of the directory', async (t) => {
    const { source } = await mirrorOf(t, ['hashicorp/null/2.0.0/linux_amd64/']);
    await assert.rejects(source.versions(parseProviderAddress('hashicorp/null'), {}), { code: 'ERR_PROVIDER_NOT_FOUND' });
  });

  it('with an unspecified version warns of it', async (t) => {
    const { source } = await mirrorOf(t, ['registry.opentofu.org/hashicorp/null/0.0.0/linux_amd64/']);
    const { versions, warnings } = await source.versions(parseProviderAddress('hashicorp/null'), {});
    assert.deepEqual(versions.map(({ version }) => String(version)), ['0.0.0']);
    assert.match(String(warnings), /0\.0\.0/u);
    assert.equal(warnings.length, 1);
  });

  it('compares names of zips in lower case, and takes surplus parts', async (t) => {
    const base = 'registry.opentofu.org/hashicorp/null';
    const { source } = await mirrorOf(t, [`${base}/Terraform-Provider-Null_1.0.0-RC1_Linux_AMD64.zip`, `${base}/terraform-provider-null_1.1.0_linux_amd64_signed_twice.zip`, `${base}/terraform-provider-null_1.2.0_linux.zip`, `${base}/terraform-provider-other_1.3.0_linux_amd64.zip`, `${base}/terraform-provider-null_1.4.0_linux_amd64.tar`]);
    assert.deepEqual(await versionsOf(source, 'hashicorp/null'), ['1.0.0-rc1', '1.1.0']);
    assert.equal((await source.offer(wanted('hashicorp/null', '1.0.0-rc1'), {})).kind, 'archive-file');
  });

  it('with a package twice gives the unpacked one, as the reference', async (t) => {
    const base = 'registry.opentofu.org/hashicorp/null';
    const { source } = await mirrorOf(t, [`${base}/terraform-provider-null_1.0.0_linux_amd64.zip`, `${base}/1.0.0/linux_amd64/`]);
    assert.equal((await source.offer(wanted('hashicorp/null', '1.0.0'), {})).kind, 'directory');
  });

  it('may be a link itself, and its packages may; the levels between may not', async (t) => {
    const { root, source } = await mirrorOf(t, ['registry.opentofu.org/hashicorp/null/', 'elsewhere/linux_amd64/', 'elsewhere/x.zip']);
    const type = join(root, 'registry.opentofu.org/hashicorp/null');
    await mkdir(join(type, '1.0.0'));
    await symlink(join(root, 'elsewhere/linux_amd64'), join(type, '1.0.0/linux_amd64'));
    await symlink(join(root, 'nowhere'), join(type, '1.0.0/darwin_amd64'));
    await symlink(join(root, 'elsewhere/x.zip'), join(type, 'terraform-provider-null_2.0.0_linux_amd64.zip'));
    await symlink(join(root, 'nowhere.zip'), join(type, 'terraform-provider-null_4.0.0_linux_amd64.zip'));
    await symlink(join(root, 'elsewhere'), join(type, '3.0.0'));
    await symlink(join(root, 'registry.opentofu.org'), join(root, 'registry.example.com'));
    const link = join(root, 'link');
    await symlink(root, link);
    for (const one of [source, filesystemMirror({ type: 'filesystem_mirror', location: link })]) {
      assert.deepEqual(await versionsOf(one, 'hashicorp/null'), ['1.0.0', '2.0.0']);
      await assert.rejects(one.offer(wanted('hashicorp/null', '1.0.0', 'darwin_amd64'), {}), { code: 'ERR_PLATFORM_NOT_SUPPORTED' });
      await assert.rejects(one.versions(parseProviderAddress('registry.example.com/hashicorp/null'), {}), { code: 'ERR_PROVIDER_NOT_FOUND' });
    }
  });

  it('that is not there, or may not be read, cannot be used', async (t) => {
    const { root } = await mirrorOf(t, ['file']);
    for (const location of [join(root, 'nothing'), join(root, 'file')]) {
      await assert.rejects(filesystemMirror({ type: 'filesystem_mirror', location }).versions(parseProviderAddress('hashicorp/null'), {}), { code: 'ERR_SOURCE_UNAVAILABLE' });
    }
  });

  it('whose entries vanish while it is read has fewer of them, and no error', async (t) => {
    const base = 'registry.opentofu.org/hashicorp/null';
    const { root, source } = await mirrorOf(t, [`${base}/1.0.0/linux_amd64/`]);
    const stop = new AbortController();
    const churn = (async () => {
      for (let round = 0; !stop.signal.aborted; round += 1) {
        const path = join(root, base, `2.0.${round % 5}`, 'linux_amd64');
        await mkdir(path, { recursive: true });
        await rm(dirname(path), { recursive: true, force: true });
      }
    })();
    try {
      for (let look = 0; look < 200; look += 1) assert.equal((await versionsOf(source, 'hashicorp/null'))[0], '1.0.0');
    } finally {
      stop.abort();
      await churn;
    }
  });

  it('does not look at what belongs to other providers', async (t) => {
    const { root, source } = await mirrorOf(t, ['registry.opentofu.org/hashicorp/null/1.0.0/linux_amd64/', 'registry.opentofu.org/acme/loop/']);
    await symlink('loop', join(root, 'registry.opentofu.org/acme/loop/loop'));
    await chmod(join(root, 'registry.opentofu.org/acme'), 0);
    const found = await versionsOf(source, 'hashicorp/null');
    await chmod(join(root, 'registry.opentofu.org/acme'), 0o755);
    assert.deepEqual(found, ['1.0.0']);
  });
});
