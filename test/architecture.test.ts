/**
 * The six floors of `src/`: a file imports from floors below its own and from its own room, never from above, never from
 * a neighbouring room, and never in a circle.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, it } from 'node:test';

/** This file runs from `<root>/<output>/test/`. */
const ROOT = findRoot(import.meta.dirname);
const SOURCE = join(ROOT, 'src');

const FLOORS: readonly (readonly string[])[] = [
  ['errors', 'system-errors', 'abort', 'diagnostics', 'single-flight', 'thread'],
  ['layout', 'hcl', 'atomic'],
  ['http', 'archive', 'lock'],
  ['registry', 'verify'],
  ['cache', 'bundle'],
  ['index'],
];

function findRoot(directory: string): string {
  const found = readdirSync(directory).includes('package.json');
  return found ? directory : findRoot(dirname(directory));
}

/** The room of a file below `src/`: its folder, or its own name. */
function roomOf(path: string): string {
  return (path.includes('/') ? path.slice(0, path.indexOf('/')) : path).replace(/\.ts$/u, '');
}

function floorOf(path: string): number {
  return FLOORS.findIndex((rooms) => rooms.includes(roomOf(path)));
}

/** What a file of `src/` imports of `src/`, types included. */
function importsOf(path: string): string[] {
  const text = readFileSync(join(SOURCE, path), 'utf8');
  const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/gu), ...text.matchAll(/new URL\('(\.[^']+\.ts)'/gu)];
  return specifiers.map(([, specifier]) => relative(SOURCE, resolve(dirname(join(SOURCE, path)), String(specifier))));
}

/** Why an import may not be; undefined for a good one. */
export function complaint(from: string, to: string): string | undefined {
  if (floorOf(from) === -1 || floorOf(to) === -1) return 'belongs to no floor';
  if (roomOf(from) === roomOf(to) && from.includes('/')) return undefined;
  if (floorOf(to) > floorOf(from)) return 'runs back up';
  if (floorOf(to) === floorOf(from) && floorOf(from) > 0) return 'crosses into a neighbouring room';
  return undefined;
}

describe('the floors', () => {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'));

  it('have no import that runs back up or crosses into a neighbouring room', () => {
    const complaints = files.flatMap((from) => importsOf(from).map((to) => ({ from, to, why: complaint(from, to) }))).filter(({ why }) => why !== undefined);
    assert.deepEqual(complaints, []);
    assert.ok(files.length > 50);
  });

  it('have no circle', () => {
    const done = new Set<string>();
    const visit = (path: string, above: readonly string[]): void => {
      assert.ok(!above.includes(path), `a circle: ${[...above, path].join(' -> ')}`);
      if (done.has(path)) return;
      for (const next of importsOf(path).filter((name) => files.includes(name))) visit(next, [...above, path]);
      done.add(path);
    };
    for (const file of files) visit(file, []);
    assert.equal(done.size, files.length);
  });

  it('are told apart by the check itself', () => {
    assert.equal(complaint('lock/a.ts', 'cache/b.ts'), 'runs back up');
    assert.equal(complaint('lock/a.ts', 'http/b.ts'), 'crosses into a neighbouring room');
    assert.equal(complaint('lock/a.ts', 'lock/b.ts'), undefined);
    assert.equal(complaint('cache/a.ts', 'errors.ts'), undefined);
    assert.equal(complaint('cellar/a.ts', 'errors.ts'), 'belongs to no floor');
  });
});
