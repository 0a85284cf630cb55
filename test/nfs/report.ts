/**
 * What the suite tells: each file's results in one piece, however many machines print at once, and a table of them all at the end. The machines
 * have a console and nothing else, so a file's results stand between two marks on it. Knows nothing of machines.
 */

/** What became of one file. */
export interface FileResult {
  readonly file: string;
  readonly seconds: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Budgets that are not met yet, whatever they end with: no failures. */
  readonly todo: number;
  /** The names of the tests that failed. */
  readonly failures: readonly string[];
}

const BEGIN = 'lab: begin ';
const END = 'lab: end ';

/** The line before a file's results. */
export function beginMark(file: string): string {
  return `${BEGIN}${file}`;
}

/** The line after them. */
export function endMark(result: FileResult): string {
  return `${END}${JSON.stringify(result)}`;
}

/** One run of the suite. */
export interface Report {
  /** For one machine: gets its lines; the other function is called when it has ended. */
  listen(): { readonly print: (line: string) => void; readonly close: () => void };
  /** Prints the table; answers whether every file ran to its end and nothing failed. */
  finish(): boolean;
}

/** Begins the report of a run that is to consist of these files. */
export function createReport(files: readonly string[], print: (line: string) => void): Report {
  const results: FileResult[] = [];
  const cutShort: string[] = [];

  const listen: Report['listen'] = () => {
    const piece: { file?: string; lines: string[] } = { lines: [] };
    const flush = (): void => {
      for (const line of piece.lines) print(line);
      piece.lines = [];
      delete piece.file;
    };
    return {
      print: (line) => {
        if (line.startsWith(BEGIN)) {
          piece.file = line.slice(BEGIN.length);
          piece.lines.push('', `━━ ${piece.file}`);
        } else if (line.startsWith(END)) {
          results.push(JSON.parse(line.slice(END.length)) as FileResult);
          flush();
        } else if (piece.file !== undefined) {
          piece.lines.push(line);
        } else {
          print(line);
        }
      },
      close: () => {
        if (piece.file === undefined) return;
        cutShort.push(piece.file);
        flush();
      },
    };
  };

  const finish = (): boolean => {
    for (const line of table(results)) print(line);
    for (const { file, failures } of results) for (const name of failures) print(`failed: ${file}: ${name}`);
    const begun = new Set([...results.map(({ file }) => file), ...cutShort]);
    const never = files.filter((file) => !begun.has(file));
    const empty = results.filter(({ passed, failed, skipped, todo }) => passed + failed + skipped + todo === 0).map(({ file }) => file);
    const complaints = [['did not run to the end', cutShort], ['did not run', never], ['had no tests', empty]] as const;
    for (const [what, names] of complaints) if (names.length > 0) print(`failed: ${what}: ${names.join(', ')}`);
    const [passed, failed, skipped] = (['passed', 'failed', 'skipped'] as const).map((key) => sum(results, key));
    print(`nfs: ${passed ?? 0} passed, ${(failed ?? 0) + cutShort.length + never.length + empty.length} failed, ${skipped ?? 0} skipped`);
    return failed === 0 && complaints.every(([, names]) => names.length === 0);
  };

  return { listen, finish };
}

const COLUMNS = ['seconds', 'passed', 'failed', 'skipped', 'todo'] as const;
type Column = (typeof COLUMNS)[number];

function sum(results: readonly FileResult[], column: Column): number {
  return results.reduce((total, result) => total + result[column], 0);
}

function table(results: readonly FileResult[]): string[] {
  const rows = [
    ['file', ...COLUMNS],
    ...[...results].sort((one, other) => other.seconds - one.seconds).map((result) => [result.file, ...COLUMNS.map((column) => figure(column, result[column]))]),
    [`${results.length} files`, ...COLUMNS.map((column) => figure(column, sum(results, column)))],
  ];
  const widths = ['file', ...COLUMNS].map((_, index) => Math.max(...rows.map((row) => String(row[index]).length)));
  const lines = rows.map(([name = '', ...figures]) => [name.padEnd(widths[0] ?? 0), ...figures.map((text, index) => text.padStart(widths[index + 1] ?? 0))].join('  '));
  const rule = '─'.repeat(lines[0]?.length ?? 0);
  return ['', lines[0] ?? '', rule, ...lines.slice(1, -1), rule, lines.at(-1) ?? '', ''];
}

function figure(column: Column, value: number): string {
  return column === 'seconds' ? value.toFixed(1) : String(value);
}
