/** Credentials helpers, as the real programs that they are: small scripts in the clients' plugin directories. */
import assert from 'node:assert/strict';
import { access, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CredentialsHelperError } from '../../src/errors.ts';
import { currentPlatform } from '../../src/layout/index.ts';
import { findHelper } from '../../src/registry/credentials-helper.ts';
import type { CliConfig } from '../../src/registry/index.ts';
import { makeHome, type Home } from './cli-config/support.ts';

const WINDOWS = process.platform === 'win32' ? 'the helpers of these tests are shell scripts' : false;

async function configure(home: Home, args = '', options: Parameters<Home['load']>[1] = {}): Promise<CliConfig> {
  await home.write('.terraformrc', `credentials_helper "test" {\n  args = [${args}]\n}\ncredentials "block.example.com" {\n  token = "block"\n}\ncredentials "none.example.com" {}\n`);
  return home.load({ PATH: process.env['PATH'] ?? '', HOME: home.path, GITHUB_TOKEN: 'gh-environment-s3cret' }, options);
}

async function failure(config: CliConfig, host = 'example.com'): Promise<CredentialsHelperError> {
  const error: unknown = await config.credentialsFor(host).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof CredentialsHelperError, String(error));
  assert.equal(error.hostname, host);
  assert.ok(error.message.includes(error.program) && error.message.includes(error.problem));
  assert.doesNotMatch([error.message, JSON.stringify(error), String(error.cause)].join(), /s3cret/u);
  return error;
}

async function waitFor(isSo: () => Promise<boolean>): Promise<void> {
  for (let round = 0; !(await isSo()); round += 1) {
    assert.ok(round < 2000, 'it did not come about');
    await sleep(10);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

describe('the protocol', { skip: WINDOWS }, () => {
  // The table of the reference's own test (svcauthconfig/helper_program_test.go).
  const TABLE = `case "$2" in
    example.com) echo '{"token":"example-token"}' ;;
    nothing.example.com) echo '{}' ;;
    null.example.com) echo null ;;
    other-cred-type.example.com) echo '{"username":"alfred"}' ;;
    number.example.com) echo '{"token":5}' ;;
    fail.example.com) echo 'failing because you told me to fail' >&2; exit 1 ;;
    *) printf '{"token":"%s"}' "$*" | tr ' ' , ;;
  esac`;

  it('is that of the reference', async (t) => {
    const home = await makeHome(t);
    const program = await home.helper('terraform-credentials-test', TABLE);
    const config = await configure(home);
    assert.deepEqual(await config.credentialsFor('Example.com:443'), { token: 'example-token' });
    for (const name of ['nothing', 'null', 'other-cred-type', 'number']) assert.equal(await config.credentialsFor(`${name}.example.com`), undefined, name);
    const error = await failure(config, 'fail.example.com');
    assert.deepEqual([error.program, error.problem], [program, 'it ended with 1 and said "failing because you told me to fail"']);
    // One host's failure is no other's.
    assert.deepEqual(await config.credentialsFor('example.com'), { token: 'example-token' });
  });

  it('gives the configured arguments first, and the host in punycode with its port', async (t) => {
    const home = await makeHome(t);
    await home.helper('terraform-credentials-test', TABLE);
    const config = await configure(home, '"--store", "a$b"');
    assert.deepEqual(await config.credentialsFor('Café.example.com:8443'), { token: '--store,a$b,get,xn--caf-dma.example.com:8443' });
  });

  it('comes after TF_TOKEN and blocks, also one that says that there is no token', async (t) => {
    const home = await makeHome(t);
    await home.helper('terraform-credentials-test', `echo "$2" >> ${home.path}/asked; echo '{"token":"helper"}'`);
    await configure(home);
    const config = await home.load({ PATH: process.env['PATH'] ?? '', TF_TOKEN_env_example_com: 'environment' });
    const tokens = await Promise.all(['env', 'block', 'none', 'other'].map(async (name) => (await config.credentialsFor(`${name}.example.com`))?.token));
    assert.deepEqual(tokens, ['environment', 'block', undefined, 'helper']);
    assert.equal(await readFile(join(home.path, 'asked'), 'utf8'), 'other.example.com\n');
  });

  it('is run once for a host, however many ask, and again after a failure', async (t) => {
    const home = await makeHome(t);
    await home.helper('terraform-credentials-test', `echo "$2" >> ${home.path}/asked; test -e ${home.path}/healed || exit 3; sleep 0.2; echo '{"token":"t"}'`);
    const config = await configure(home);
    assert.equal((await failure(config)).problem, 'it ended with 3 and said nothing');
    await home.write('healed', '');
    const answers = await Promise.all(Array.from({ length: 20 }, () => config.credentialsFor('example.com')));
    assert.ok(answers.every((answer) => answer?.token === 't'));
    assert.deepEqual(await config.credentialsFor('example.com'), { token: 't' });
    assert.equal(await readFile(join(home.path, 'asked'), 'utf8'), 'example.com\nexample.com\n');
  });
});

describe('a helper that misbehaves is an error of its own host, without a secret', { skip: WINDOWS }, () => {
  it('junk, nothing, and what is no object', async (t) => {
    const home = await makeHome(t);
    for (const output of ['s3cret junk', '', '["s3cret"]', '"s3cret"', '{"token":"s3cret"', '{"token":"s3cret"}{"token":"s3cret"}', '{"token":"s3cret\\n"}', '{"token":"s3cr\\u00e9t"}']) {
      await home.helper('terraform-credentials-test', `cat <<'END'\n${output}\nEND`);
      await failure(await configure(home));
    }
  });

  it('1 MiB of output is refused, and the helper ended', async (t) => {
    const home = await makeHome(t);
    await home.helper('terraform-credentials-test', `echo $$ > ${home.path}/pid; head -c 1048576 /dev/zero | tr '\\0' s; exec sleep 600`);
    const error = await failure(await configure(home));
    assert.match(error.problem, /more than 65536 bytes/u);
    const pid = Number(await readFile(join(home.path, 'pid'), 'utf8'));
    await waitFor(() => Promise.resolve(!isRunning(pid)));
  });

  it('what it complains about is shortened, on one line, and bare of secrets', async (t) => {
    const home = await makeHome(t);
    const complain = async (script: string): Promise<string> => {
      await home.helper('terraform-credentials-test', `${script}\nexit 2`);
      return (await failure(await configure(home))).problem;
    };
    assert.equal(await complain("printf 'first\\n\\033[31msecond\\t' >&2"), 'it ended with 2 and said "first [31msecond"');
    assert.equal(await complain(`echo '{"token":"printed-s3cret"}'; echo 'bad: printed-s3cret' >&2`), 'it ended with 2 and said "bad: …"');
    assert.equal(await complain('echo "cannot use $GITHUB_TOKEN here" >&2'), 'it ended with 2 and said "cannot use … here"');
    assert.equal(await complain("echo 'GET https://me:pw-s3cret@vault.example.com/v1 Authorization: Bearer' >&2"), 'it ended with 2 and said "GET https://…@vault.example.com/v1 Authorization: …"');
    assert.equal(await complain("echo 'Bearer s3cret, password=s3cret \"token\": \"s3cret two\"' >&2"), 'it ended with 2 and said "Bearer … password=… "token": …"'.replaceAll('"token"', '\\"token\\"'));
    assert.equal(await complain("echo 'jwt eyJhbGciOiJIUzI1NiIs3cret.x' >&2"), 'it ended with 2 and said "jwt ….x"');
    const long = await complain('head -c 1048576 /dev/zero | tr "\\0" " " >&2; head -c 100000 /dev/zero | tr "\\0" x >&2');
    assert.ok(long.length < 1200);
  });

  it('one that hangs is killed after the limit, with all that it has started', async (t) => {
    const home = await makeHome(t);
    await home.helper('terraform-credentials-test', `sleep 600 & echo $! > ${home.path}/pid; wait`);
    const began = performance.now();
    const error = await failure(await configure(home, '', { helperTimeoutMs: 500 }));
    assert.match(error.problem, /within 500 ms/u);
    // Alive, not fast: the bound is for a busy machine.
    assert.ok(performance.now() - began < 10_000);
    const pid = Number(await readFile(join(home.path, 'pid'), 'utf8'));
    await waitFor(() => Promise.resolve(!isRunning(pid)));
  });

  it('one that hangs is killed as soon as the last of its callers has left, with their own reasons', async (t) => {
    const home = await makeHome(t);
    const pidFile = join(home.path, 'pid');
    await home.helper('terraform-credentials-test', `sleep 600 & echo $! > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; wait`);
    const config = await configure(home);
    const [first, second] = [new AbortController(), new AbortController()];
    const calls = [config.credentialsFor('example.com', { signal: first.signal }), config.credentialsFor('example.com', { signal: second.signal })];
    const settled = Promise.allSettled(calls);
    await waitFor(() => exists(pidFile));
    const pid = Number(await readFile(pidFile, 'utf8'));
    first.abort(new Error('first'));
    await assert.rejects(calls[0] ?? Promise.resolve(), /first/u);
    assert.ok(isRunning(pid));
    const began = performance.now();
    second.abort(new Error('second'));
    await assert.rejects(calls[1] ?? Promise.resolve(), /second/u);
    // At once; the bound is for a busy machine.
    assert.ok(performance.now() - began < 1000);
    await waitFor(() => Promise.resolve(!isRunning(pid)));
    await settled;
  });

  it('one that cannot be started, or is not there', async (t) => {
    const home = await makeHome(t);
    const config = await configure(home);
    const missing = await failure(config);
    assert.equal(missing.program, 'terraform-credentials-test');
    assert.ok(missing.problem.includes(join(home.path, '.terraform.d/plugins')));
    await home.write('.terraform.d/plugins/terraform-credentials-test', '#!/nonexistent/interpreter\n');
    assert.match((await failure(config)).problem, /could not be started: (?:EACCES|ENOENT)/u);
    // Once it is there it is found.
    await home.helper('terraform-credentials-test', `echo '{"token":"t"}'`);
    assert.deepEqual(await config.credentialsFor('example.com'), { token: 't' });
  });

  it('one that is ended by a signal', async (t) => {
    const home = await makeHome(t);
    await home.helper('terraform-credentials-test', 'kill -9 $$');
    assert.equal((await failure(await configure(home))).problem, 'it was ended by SIGKILL and said nothing');
  });
});

describe('the program', () => {
  it('is found by its name in the plugin directories, and the newest version of it', async (t) => {
    const home = await makeHome(t);
    const [first, second] = [join(home.path, 'first'), join(home.path, 'second')];
    const find = async (): Promise<string | undefined> => (await findHelper('vault', [join(home.path, 'missing'), first, second]))?.slice(home.path.length + 1);
    await mkdir(first);
    assert.equal(await find(), undefined);
    for (const name of ['terraform-credentials-vaults', 'terraform-credentials-vault_x5', 'terraform-credentials-vault_vx', 'xterraform-credentials-vault']) await home.write(`first/${name}`, '');
    await mkdir(join(first, 'terraform-credentials-vault_v9.0.0'));
    assert.equal(await find(), undefined);
    await home.write('second/terraform-credentials-vault', '');
    assert.equal(await find(), 'second/terraform-credentials-vault');
    await home.write('first/terraform-credentials-vault.exe', '');
    assert.equal(await find(), 'first/terraform-credentials-vault.exe');
    await home.write('second/terraform-credentials-vault_v1.9.0', '');
    assert.equal(await find(), 'second/terraform-credentials-vault_v1.9.0');
    await home.write('second/terraform-credentials-vault_v1.10.0_x4', '');
    await home.write('second/Terraform-credentials-vault_v1.10.0-beta1', '');
    assert.equal(await find(), 'second/terraform-credentials-vault_v1.10.0_x4');
    await writeFile(join(home.path, 'elsewhere'), '');
    await symlink(join(home.path, 'elsewhere'), join(first, 'terraform-credentials-vault_v2.0.0'));
    assert.equal(await find(), 'first/terraform-credentials-vault_v2.0.0');
  });

  it('may lie in the directory of the platform, and in OpenTofu’s own', { skip: WINDOWS }, async (t) => {
    const home = await makeHome(t);
    const program = await home.helper(`${String(currentPlatform())}/terraform-credentials-test`, `echo '{"token":"platform"}'`);
    assert.deepEqual(await (await configure(home)).credentialsFor('example.com'), { token: 'platform' });
    await rm(program);
    await home.helper('../../xdg/opentofu/plugins/terraform-credentials-test', `echo '{"token":"xdg"}'`);
    const environment = { PATH: process.env['PATH'] ?? '', XDG_DATA_HOME: join(home.path, 'xdg') };
    assert.deepEqual(await (await home.load(environment)).credentialsFor('example.com'), { token: 'xdg' });
    await assert.rejects((await home.load(environment, { tool: 'terraform' })).credentialsFor('example.com'), CredentialsHelperError);
  });
});
