/** What all benchmarks share: interleaved rounds, medians, and the lines of the table. Measures nothing by itself. */

/** What a subject works with. */
export interface Scope {
  /** An empty directory on the local disk, removed afterwards. */
  readonly directory: string;
  /** How many rounds a subject that wants `wanted` of them gets; fewer with `--quick`. */
  rounds(wanted: number): number;
  /** Tells whoever waits what is being measured. */
  say(text: string): void;
}

/** One subject of the table. */
export interface Subject {
  /** What `npm run bench <word>` chooses it by. */
  readonly name: string;
  run(scope: Scope): Promise<Row[]>;
}

/** One line of the table. */
export interface Row {
  readonly name: string;
  readonly ours: string;
  /** What it is compared with; empty where there is nothing. */
  readonly other: string;
  readonly ratio: string;
  /** Empty for a line that only informs. */
  readonly target: string;
  readonly holds: boolean | undefined;
}

/**
 * Measures several things in turn, round after round, so that a load on the machine strikes all of them; every second round
 * runs backwards, so that none always comes after the same other. The first round only warms up.
 */
export async function interleave<K extends string>(rounds: number, contenders: Readonly<Record<K, () => Promise<number>>>): Promise<Record<K, number[]>> {
  const names = Object.keys(contenders) as K[];
  const measured = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<K, number[]>;
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : [...names].reverse()) {
      const value = await contenders[name]();
      if (round > 0) measured[name].push(value);
    }
  }
  return measured;
}

/** Milliseconds for each of so many calls, one after the other. */
export async function timeOfEach(calls: number, work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  for (let call = 0; call < calls; call += 1) await work();
  return (performance.now() - begun) / calls;
}

/** The middle one; of an even number the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2;
}

/** The median of the rounds' own ratios: what was slow for both in one round cancels out. */
export function ratioOf(ours: readonly number[], others: readonly number[]): number {
  return median(ours.map((value, round) => value / (others[round] ?? NaN)));
}

/** A line that compares times, in milliseconds. Without a `limit` it only informs. */
export function comparison(name: string, ours: readonly number[], otherName: string, others: readonly number[], limit?: number): Row {
  const ratio = ratioOf(ours, others);
  return {
    name,
    ours: duration(median(ours)),
    other: `${otherName}: ${duration(median(others))}`,
    ratio: ratio.toFixed(2),
    target: limit === undefined ? '' : `≤ ${limit}`,
    holds: limit === undefined ? undefined : ratio <= limit,
  };
}

/** A line that says what could not be measured here, and why. */
export function skipped(name: string, reason: string): Row {
  return { name, ours: '', other: `not measured: ${reason}`, ratio: '', target: '', holds: undefined };
}

/** Milliseconds as text, with three digits. */
export function duration(milliseconds: number): string {
  const [value, unit] = milliseconds < 1 ? [milliseconds * 1000, 'µs'] : milliseconds < 10_000 ? [milliseconds, 'ms'] : [milliseconds / 1000, 's'];
  return `${value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** The lines as a Markdown table. */
export function markdownTable(rows: readonly Row[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const heads = ['what', 'rwx-cache', 'by hand, or others', 'ratio', 'target', 'met'];
  return [
    line(heads),
    line(heads.map(() => '---')),
    ...rows.map(({ name, ours, other, ratio, target, holds }) => line([name, ours, other, ratio, target, holds === undefined ? '' : holds ? 'yes' : '**no**'])),
  ].join('\n');
}
