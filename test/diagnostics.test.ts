import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, it } from 'node:test';
import { publishEvent, redactUrl } from '../src/diagnostics.ts';

/** What a process writes to standard error that logs one line, with these namespaces enabled. */
function logged(namespaces: string | undefined, before = ''): string {
  const diagnostics = JSON.stringify(new URL('../src/diagnostics.js', import.meta.url).href);
  const program = `import { logger } from ${diagnostics}; const log = logger('cache'); ${before}; log('installed %s of %d', 'one', 2);`;
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'DEBUG'));
  const { stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    env: namespaces === undefined ? environment : { ...environment, DEBUG: namespaces, DEBUG_COLORS: 'no' },
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return stderr;
}

describe('logger', () => {
  it('writes to standard error what DEBUG asks for, formatted', () => {
    assert.match(logged('rwx-cache:*'), /rwx-cache:cache installed one of 2\n$/u);
  });

  it('writes nothing that DEBUG does not ask for', () => {
    assert.equal(logged(undefined), '');
    assert.equal(logged('rwx-cache:lock'), '');
  });

  it('is the one that an application enables while it runs', () => {
    assert.match(logged(undefined, `(await import('debug')).default.enable('rwx-cache:*')`), /rwx-cache:cache .*installed one of 2/u);
  });
});

describe('publishEvent', () => {
  it('tells the subscribers of its channel', () => {
    const heard: unknown[] = [];
    const listener = (data: unknown): void => void heard.push(data);
    subscribe('rwx-cache:test', listener);
    publishEvent('test', { answer: 1 });
    unsubscribe('rwx-cache:test', listener);
    publishEvent('test', { answer: 2 });
    assert.deepEqual(heard, [{ answer: 1 }]);
  });
});

describe('redactUrl', () => {
  const SECRET = 'https://user:password@example.com:8443/a/b.zip?X-Signature=secret#secret';

  it('leaves out user, password, query and fragment', () => {
    assert.equal(redactUrl(SECRET), 'https://example.com:8443/a/b.zip?…');
    assert.equal(redactUrl(new URL(SECRET)), 'https://example.com:8443/a/b.zip?…');
    assert.equal(redactUrl('https://example.com/a'), 'https://example.com/a');
  });

  it('repeats nothing of what is no URL', () => {
    assert.equal(redactUrl('secret'), '(not a URL)');
  });
});
