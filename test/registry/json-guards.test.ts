import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RegistryResponseError } from '../../src/errors.ts';
import { elements, field, fields, number, parseJson, quoted, requiredText, text, texts } from '../../src/registry/json-guards.ts';

const URL_TEXT = 'https://registry.example.com/x';

function document(value: unknown): ReturnType<typeof parseJson> {
  return parseJson(JSON.stringify(value), URL_TEXT);
}

function complains(action: () => unknown, path: string, problem: RegExp): void {
  assert.throws(action, (error) => error instanceof RegistryResponseError && error.url === URL_TEXT && error.field === path && problem.test(error.message));
}

test('what is there is read, and what is absent or null has its empty value', () => {
  const root = document({ name: 'a', list: ['b', null], nothing: null, deep: { size: 3 } });
  assert.equal(text(field(root, 'name')), 'a');
  assert.deepEqual(texts(field(root, 'list')), ['b', '']);
  assert.equal(number(field(field(root, 'deep'), 'size')), 3);
  for (const name of ['nothing', 'absent']) {
    assert.equal(text(field(root, name)), '');
    assert.deepEqual(elements(field(root, name)), []);
    assert.deepEqual(fields(field(root, name)), []);
    assert.equal(text(field(field(root, name), 'below')), '');
  }
});

test('a complaint names the field as a path', () => {
  const root = document({ versions: [{}, {}, { version: 7 }], packages: { linux_amd64: { package_size: 'big' } } });
  complains(() => elements(field(root, 'versions')).map((node) => text(field(node, 'version'))), 'versions[2].version', /a string is expected, and a value of type number/u);
  complains(() => requiredText(field(root, 'shasum')), 'shasum', /it is missing/u);
  const [entry] = fields(field(root, 'packages'));
  assert.ok(entry !== undefined);
  complains(() => number(field(entry[1], 'package_size')), 'packages["linux_amd64"].package_size', /a number is expected/u);
  complains(() => elements(field(root, 'packages')), 'packages', /an array is expected, and a value of type object/u);
});

test('the document itself must be a JSON object', () => {
  complains(() => parseJson('<html>', URL_TEXT), '', /it is not JSON/u);
  for (const value of [null, [], 'text', 1]) complains(() => field(document(value), 'versions'), '', /an object is expected/u);
});

test('a name that every object inherits is no field', () => {
  assert.equal(text(field(parseJson('{}', URL_TEXT), '__proto__')), '');
  assert.equal(text(field(parseJson('{}', URL_TEXT), 'constructor')), '');
});

test('text of a stranger is quoted, escaped and cut', () => {
  assert.equal(quoted('a"b\u001b'), '"a\\"b\\u001b"');
  assert.ok(quoted('x'.repeat(1e6)).length < 100);
});
