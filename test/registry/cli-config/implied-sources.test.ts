import assert from 'node:assert/strict';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { impliedSources } from '../../../src/registry/index.ts';
import { makeHome } from './support.ts';

test('the implied mirrors are those that are there, and what they have is not asked of registries', async (t) => {
  const home = await makeHome(t);
  const options = { homeDirectory: home.path, workingDirectory: join(home.path, 'work'), environment: { XDG_DATA_HOME: join(home.path, 'data'), XDG_DATA_DIRS: '/nonexistent' } };
  assert.deepEqual(await impliedSources(options), [{ type: 'direct' }]);

  const [vendored, own] = [join(home.path, 'work/terraform.d/plugins'), join(home.path, '.terraform.d/plugins')];
  await mkdir(join(vendored, 'Example.com/Acme/unpacked/1.0.0/linux_amd64'), { recursive: true });
  await home.write('.terraform.d/plugins/registry.opentofu.org/hashicorp/packed/terraform-provider-packed_2.0.0_linux_amd64.zip', '');
  // What is no package: a helper, a file and a link in the way, no version, no platform, no address.
  await home.write('.terraform.d/plugins/terraform-credentials-test', '');
  await home.write('.terraform.d/plugins/example.com/acme/file', '');
  await home.write('.terraform.d/plugins/example.com/acme/none/1.0.0/readme', '');
  await mkdir(join(own, 'example.com/acme/no-version/latest/linux_amd64'), { recursive: true });
  await mkdir(join(own, 'example.com/acme/no-platform/1.0.0/linux'), { recursive: true });
  await mkdir(join(own, 'not a host/acme/x/1.0.0/linux_amd64'), { recursive: true });
  await symlink(join(vendored, 'Example.com'), join(own, 'linked.example.com'));
  assert.deepEqual(await impliedSources(options), [
    { type: 'filesystem_mirror', path: vendored },
    { type: 'filesystem_mirror', path: own },
    { type: 'direct', exclude: ['example.com/acme/unpacked', 'registry.opentofu.org/hashicorp/packed'] },
  ]);

  // OpenTofu's own, and the data directory of both.
  await mkdir(join(home.path, 'data/opentofu/plugins'), { recursive: true });
  await mkdir(join(home.path, 'data/terraform/plugins/a.example.com/b/c/1.0.0/linux_amd64'), { recursive: true });
  const all = (await impliedSources(options)).map((source) => (source.type === 'filesystem_mirror' ? source.path : source.exclude));
  assert.deepEqual(all.slice(2), [join(home.path, 'data/opentofu/plugins'), join(home.path, 'data/terraform/plugins'), ['a.example.com/b/c', 'example.com/acme/unpacked', 'registry.opentofu.org/hashicorp/packed']]);
  assert.equal((await impliedSources({ ...options, tool: 'terraform' })).length, all.length - 1);
  await assert.rejects(impliedSources({ signal: AbortSignal.abort(new Error('before')) }), /before/u);
});
