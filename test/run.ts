/**
 * Runs the compiled tests: all of them, or those whose path contains one of the words given.
 * Node 20's `--test` takes no pattern, so the files are listed here.
 */
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const words = process.argv.slice(2);
const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.js'))
  .filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
  .sort()
  .map((name) => join(import.meta.dirname, name));

if (files.length === 0) {
  console.error(`No test file matches ${words.join(', ')}`);
  process.exit(1);
}

const results = run({ files, concurrency: availableParallelism() });
results.on('test:fail', () => {
  process.exitCode = 1;
});
pipeline(results, new spec(), process.stdout).catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
