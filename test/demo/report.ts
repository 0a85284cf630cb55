/** What the demo prints, as text. Pure: no colours, no width of a terminal. */

/** A file of a tree. */
export interface TreeFile {
  /** With `/`; one that ends with it is an empty directory. */
  readonly path: string;
  /** What stands beside its name. */
  readonly note: string;
}

/** One thing that must hold, and whether it does. */
export interface Expectation {
  readonly what: string;
  readonly holds: boolean;
}

/** A headline with what belongs to it, indented. */
export function section(title: string, lines: readonly string[]): string {
  return [title, ...lines.map((line) => `  ${line}`), ''].join('\n');
}

/** Columns that stand under each other; numbers to the right. */
export function table(rows: readonly (readonly (string | number)[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, String(cell).length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (typeof cell === 'number' ? String(cell).padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** One line for each expectation. */
export function checklist(expectations: readonly Expectation[]): string[] {
  return expectations.map(({ what, holds }) => `${holds ? '✔' : '✘'} ${what}`);
}

/** A number of bytes for people. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [unit, divisor] = bytes < 1 << 20 ? (['KiB', 1024] as const) : (['MiB', 1 << 20] as const);
  return `${(bytes / divisor).toFixed(1)} ${unit}`;
}

/** A mode as `ls` has it, without the type. */
export function permissions(mode: number): string {
  return [6, 3, 0].map((shift) => ['r', 'w', 'x'].map((letter, bit) => ((mode >> shift) & (4 >> bit) ? letter : '-')).join('')).join('');
}

type Branch = Map<string, Branch | string>;

/** A tree of files. A directory that holds nothing but one directory shares its line. */
export function tree(files: readonly TreeFile[], most = 40): string[] {
  const root: Branch = new Map();
  for (const { path, note } of files) {
    const parts = path.split('/').filter((part) => part !== '');
    const name = parts.pop() ?? '';
    let branch = root;
    for (const part of parts) branch = childOf(branch, part);
    if (path.endsWith('/')) childOf(branch, name);
    else branch.set(name, note);
  }
  const lines = draw(root, '');
  return lines.length <= most ? lines : [...lines.slice(0, most - 1), `… and ${lines.length - most + 1} lines more`];
}

function childOf(branch: Branch, name: string): Branch {
  const existing = branch.get(name);
  if (existing instanceof Map) return existing;
  const made: Branch = new Map();
  branch.set(name, made);
  return made;
}

function draw(branch: Branch, indent: string): string[] {
  const entries = [...branch].sort(([a], [b]) => (a < b ? -1 : 1));
  const longest = Math.max(0, ...entries.map(([name, child]) => (typeof child === 'string' ? name.length : 0)));
  return entries.flatMap(([name, child], index) => {
    const last = index === entries.length - 1;
    const start = `${indent}${last ? '└── ' : '├── '}`;
    if (typeof child === 'string') return [`${start}${name.padEnd(longest)}  ${child}`.trimEnd()];
    const { path, inside } = collapse(name, child);
    return [`${start}${path}/`, ...draw(inside, `${indent}${last ? '    ' : '│   '}`)];
  });
}

function collapse(name: string, branch: Branch): { readonly path: string; readonly inside: Branch } {
  const [only, ...others] = branch;
  if (only === undefined || others.length > 0 || typeof only[1] === 'string') return { path: name, inside: branch };
  return collapse(`${name}/${only[0]}`, only[1]);
}
