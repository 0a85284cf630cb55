/** Where the clients look, on each platform. The choices that depend on what is there are tested with the loading. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configDirectory, dataDirectories, impliedDirectories, mainFile, overridingFile, surroundings } from '../../../src/registry/cli-config/files.ts';

const AT = { homeDirectory: '/nonexistent/home', workingDirectory: '/work dir' };

test('Linux', async () => {
  const tofu = surroundings({ ...AT, environment: { XDG_DATA_HOME: '/data', XDG_DATA_DIRS: '/one:relative:/two', XDG_CONFIG_HOME: '/nonexistent/config' } }, 'linux');
  assert.equal(await mainFile(tofu), '/nonexistent/config/opentofu/tofurc');
  assert.equal(await configDirectory(tofu), '/nonexistent/config/opentofu');
  assert.deepEqual(dataDirectories(tofu), ['/nonexistent/home/.terraform.d', '/data/opentofu']);
  assert.deepEqual(impliedDirectories(tofu), [
    ...['/work dir/terraform.d/plugins', '/nonexistent/home/.terraform.d/plugins', '/data/opentofu/plugins'],
    ...['/data/terraform/plugins', '/one/terraform/plugins', '/two/terraform/plugins'],
  ]);
  const terraform = surroundings({ ...AT, tool: 'terraform', environment: { XDG_CONFIG_HOME: '/nonexistent/config' } }, 'linux');
  assert.equal(await mainFile(terraform), '/nonexistent/home/.terraformrc');
  assert.equal(await configDirectory(terraform), '/nonexistent/home/.terraform.d');
  assert.deepEqual(impliedDirectories(terraform), [
    ...['/work dir/terraform.d/plugins', '/nonexistent/home/.terraform.d/plugins', '/nonexistent/home/.local/share/terraform/plugins'],
    ...['/usr/local/share/terraform/plugins', '/usr/share/terraform/plugins'],
  ]);
  assert.equal(await mainFile(surroundings({ ...AT, environment: {} }, 'linux')), '/nonexistent/home/.tofurc');
  assert.equal(overridingFile(surroundings({ ...AT, environment: { TF_CLI_CONFIG_FILE: '', TERRAFORM_CONFIG: 'x' } }, 'linux')), '/work dir/x');
});

test('macOS', () => {
  const where = surroundings({ ...AT, environment: {} }, 'darwin');
  assert.deepEqual(impliedDirectories(where).slice(2), [
    '/nonexistent/home/Library/Application Support/io.terraform/plugins',
    '/Library/Application Support/io.terraform/plugins',
  ]);
});

test('Windows', async () => {
  const where = surroundings({ homeDirectory: 'C:\\Users\\me', workingDirectory: 'C:\\work', environment: { APPDATA: 'D:\\Roaming', TF_CLI_CONFIG_FILE: 'x.tfrc' } }, 'win32');
  assert.equal(await mainFile(where), 'D:\\Roaming\\tofu.rc');
  assert.equal(await mainFile({ ...where, tool: 'terraform' }), 'D:\\Roaming\\terraform.rc');
  assert.equal(await configDirectory(where), 'D:\\Roaming\\terraform.d');
  assert.equal(overridingFile(where), 'C:\\work\\x.tfrc');
  assert.deepEqual(impliedDirectories(where), ['C:\\work\\terraform.d\\plugins', 'D:\\Roaming\\terraform.d\\plugins', 'D:\\Roaming\\HashiCorp\\Terraform\\plugins']);
  assert.deepEqual(dataDirectories({ ...where, environment: {} }), ['C:\\Users\\me\\AppData\\Roaming\\terraform.d']);
});
