import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expandVariables } from '../../../src/registry/cli-config/expand-variables.ts';

test('variables are filled in as Go’s os.ExpandEnv does', () => {
  const environment = { HOME: '/h', A_1: 'a', EMPTY: '' };
  for (const [given, expected] of [
    ['$HOME/x', '/h/x'],
    ['${HOME}x', '/hx'],
    ['$HOMEx$A_1-', 'a-'],
    ['a$', 'a$'],
    ['a$/b', 'a$/b'],
    ['$EMPTY$MISSING.', '.'],
    ['${}x', 'x'],
    ['${HOME', 'HOME'],
    ['$1$$x', 'x'],
    ['no variable', 'no variable'],
    ['$(HOME)', '$(HOME)'],
    ['${HOME}${A_1}', '/ha'],
  ] as const) {
    assert.equal(expandVariables(given, environment), expected, given);
  }
});
