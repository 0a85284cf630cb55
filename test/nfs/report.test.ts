/** What a run of the NFS suite tells, and when it counts as passed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { beginMark, createReport, endMark, type FileResult, type Report } from './report.ts';

const GOOD: FileResult = { file: 'one', seconds: 1.25, passed: 2, failed: 0, skipped: 1, todo: 0, failures: [] };

function withReport(...files: readonly string[]): { report: Report; lines: string[] } {
  const lines: string[] = [];
  return { report: createReport(files, (line) => lines.push(line)), lines };
}

/** Runs one file to its end. */
function runFile(report: Report, result: FileResult): void {
  const { print, close } = report.listen();
  print(beginMark(result.file));
  print(endMark(result));
  close();
}

describe('the report of the NFS suite', () => {
  it('has each file in one piece, though two machines print at once', () => {
    const { report, lines } = withReport('one', 'two');
    const [first, second] = [report.listen(), report.listen()];
    first.print('booted');
    first.print(beginMark('one'));
    second.print(beginMark('two'));
    first.print('1a');
    second.print('2a');
    second.print(endMark({ ...GOOD, file: 'two' }));
    first.print('1b');
    first.print(endMark(GOOD));
    assert.deepEqual(lines, ['booted', '', '━━ two', '2a', '', '━━ one', '1a', '1b']);
  });

  it('ends with a table, the longest file first, and the totals', () => {
    const { report, lines } = withReport('one', 'longest');
    runFile(report, GOOD);
    runFile(report, { ...GOOD, file: 'longest', seconds: 70.04, passed: 10, todo: 1 });
    assert.equal(report.finish(), true);
    assert.deepEqual(lines.slice(-8), [
      'file     seconds  passed  failed  skipped  todo',
      '───────────────────────────────────────────────',
      'longest     70.0      10       0        1     1',
      'one          1.3       2       0        1     0',
      '───────────────────────────────────────────────',
      '2 files     71.3      12       0        2     1',
      '',
      'nfs: 12 passed, 0 failed, 2 skipped',
    ]);
  });

  it('fails with a test, and names it', () => {
    const { report, lines } = withReport('one');
    runFile(report, { ...GOOD, failed: 1, failures: ['is atomic'] });
    assert.equal(report.finish(), false);
    assert.ok(lines.includes('failed: one: is atomic'));
  });

  it('fails when a machine ended within a file, shows what there is of it, and names what never ran', () => {
    const { report, lines } = withReport('one', 'two', 'three', 'four');
    runFile(report, GOOD);
    const { print, close } = report.listen();
    print(beginMark('two'));
    print('2a');
    close();
    assert.ok(lines.includes('2a'));
    assert.equal(report.finish(), false);
    assert.ok(lines.includes('failed: did not run to the end: two'));
    assert.ok(lines.includes('failed: did not run: three, four'));
    assert.equal(lines.at(-1), 'nfs: 2 passed, 3 failed, 1 skipped');
  });

  it('fails for a file without a test', () => {
    const { report, lines } = withReport('one');
    runFile(report, { ...GOOD, passed: 0, skipped: 0 });
    assert.equal(report.finish(), false);
    assert.ok(lines.includes('failed: had no tests: one'));
  });
});
