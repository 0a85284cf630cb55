/** Mirrors that a real `terraform providers mirror` has made are read by ours, as directories and over the network. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { HOST } from '../cache/support.ts';
import { startServer } from '../support/http-server.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { cacheOptions, openCache, PLATFORM, release, required, terraform, withRegistryProcess, WITHOUT_TERRAFORM, workingDirectory } from './support.ts';

describe('a mirror made by terraform', { skip: WITHOUT_TERRAFORM }, () => {
  it('gives the same packages as the registry that it was made from', async (t) => {
    const registry = await withRegistryProcess(t, { providers: [release('thing'), release('other', '2.0.0-beta.1')] });
    const root = await withTemporaryDirectory(t);
    const directory = await workingDirectory(root, 'work', [required('thing'), required('other', '2.0.0-beta.1')]);
    const mirror = join(root, 'mirror');
    await mkdir(mirror);
    const home = join(directory, '.client');
    await mkdir(home);
    const services = Object.entries(registry.hosts(HOST)[HOST] ?? {}).map(([service, url]) => `    ${JSON.stringify(service)} = ${JSON.stringify(url)}\n`);
    await writeFile(join(home, 'cli.tfrc'), `host ${JSON.stringify(HOST)} {\n  services = {\n${services.join('')}  }\n}\n`);
    const { status, stdout, stderr } = spawnSync(terraform().path, ['providers', 'mirror', `-platform=${PLATFORM}`, mirror], {
      cwd: directory,
      encoding: 'utf8',
      timeout: 120_000,
      env: { PATH: process.env['PATH'], HOME: home, CHECKPOINT_DISABLE: '1', TF_CLI_CONFIG_FILE: join(home, 'cli.tfrc') },
    });
    assert.equal(status, 0, `${stdout}${stderr}`);
    assert.deepEqual((await readdir(join(mirror, HOST, 'acme/thing'))).sort(), ['1.2.3.json', 'index.json', `terraform-provider-thing_1.2.3_${PLATFORM}.zip`]);

    // What any file server makes of that directory.
    const server = await startServer(t, {
      '*': (request, response) => {
        const path = join(mirror, decodeURIComponent((request.url ?? '/').slice('/mirror/'.length)));
        void readFile(path).then(
          (body) => response.writeHead(200, { 'content-type': path.endsWith('.json') ? 'application/json' : 'application/zip' }).end(body),
          () => response.writeHead(404).end(),
        );
      },
    });
    const direct = await openCache(t, cacheOptions(registry, join(root, 'direct')));
    const packed = await openCache(t, { directory: join(root, 'packed'), environment: {}, offline: true, sources: [{ type: 'filesystem_mirror', path: mirror }] });
    const network = await openCache(t, { directory: join(root, 'network'), environment: {}, sources: [{ type: 'network_mirror', url: `${server.origin}/mirror/` }] });
    // The cache's own tree is an unpacked mirror to others.
    const unpacked = await openCache(t, { directory: join(root, 'unpacked'), environment: {}, offline: true, sources: [{ type: 'filesystem_mirror', path: direct.providersDirectory }] });
    for (const [name, version] of [['thing', '1.2.3'], ['other', '2.0.0-beta.1']] as const) {
      const request = { source: `${HOST}/acme/${name}`, version };
      const signed = await direct.ensure(request);
      for (const cache of [packed, network]) {
        const found = await cache.ensure(request);
        assert.deepEqual(found.hashes, signed.hashes);
        assert.ok(found.lockHashes.every((hash) => signed.lockHashes.includes(hash)));
        assert.ok((await stat(found.executable)).mode & 0o111);
      }
      assert.equal((await network.ensure(request)).provenance.checksum, 'mirror');
      assert.deepEqual((await unpacked.ensure(request)).hashes, signed.hashes.slice(0, 1));
    }
  });
});
