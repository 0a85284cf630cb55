import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ownRecord, parseHolder, readHolder, RECORD_BYTES } from '../../src/lock/holder.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

const GOOD = { host: 'worker-1.example.com', pid: 12, since: '2026-01-02T03:04:05.678Z' };

describe('the record of a holder', () => {
  it('has one size and reads back', () => {
    const record = ownRecord();
    assert.equal(record.length, RECORD_BYTES);
    assert.equal(record.at(-1), 0x0a);
    assert.equal(parseHolder(record.toString())?.pid, process.pid);
  });

  it('is read from a file, and a file without one is no error', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await writeFile(join(directory, 'a.lock'), JSON.stringify(GOOD));
    assert.deepEqual(await readHolder(join(directory, 'a.lock')), GOOD);
    await writeFile(join(directory, 'empty'), '');
    for (const name of ['empty', 'missing', '.']) assert.equal(await readHolder(join(directory, name)), undefined);
  });

  it('passes nothing that is not a name, a number and a time', () => {
    assert.deepEqual(parseHolder(JSON.stringify({ ...GOOD, token: 'x' })), GOOD);
    const bad = [
      'null', '[]', '7', '{', '',
      JSON.stringify({ ...GOOD, host: '\u001b[2J' }),
      JSON.stringify({ ...GOOD, host: 'a\nb' }),
      JSON.stringify({ ...GOOD, host: 'x'.repeat(129) }),
      JSON.stringify({ ...GOOD, host: 7 }),
      JSON.stringify({ ...GOOD, pid: '12' }),
      JSON.stringify({ ...GOOD, pid: -1 }),
      JSON.stringify({ ...GOOD, pid: 1.5 }),
      JSON.stringify({ ...GOOD, since: 'yesterday\u0007' }),
      JSON.stringify({ host: GOOD.host }),
    ];
    for (const text of bad) assert.equal(parseHolder(text), undefined, text);
  });
});
