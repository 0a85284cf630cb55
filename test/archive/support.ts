/** What the tests of this room share. */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { extractZip, type ExtractedFile, type ExtractOptions } from '../../src/archive/index.ts';
import { InvalidArchiveError, UnsafeArchiveError, type ArchiveRule } from '../../src/errors.ts';

let count = 0;

/** Writes the archive and unpacks it into a new directory beside it. */
export async function unpack(directory: string, archive: Uint8Array, options?: ExtractOptions): Promise<{ files: ExtractedFile[]; out: string; zip: string }> {
  count += 1;
  const zip = join(directory, `${count}.zip`);
  const out = join(directory, `${count}`);
  await writeFile(zip, archive);
  await mkdir(out);
  return { files: await extractZip(zip, out, { durable: false, ...options }), out, zip };
}

/** Every file below a directory with its content as text; directories end with '/'. */
export async function tree(directory: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const name = join(entry.parentPath, entry.name).slice(directory.length + 1);
    if (entry.isDirectory()) found[`${name}/`] = '';
    else found[name] = await readFile(join(directory, name), 'utf8');
  }
  return found;
}

/** Expects the refusal, naming this rule and entry, and an empty destination. */
export async function refuses(directory: string, archive: Uint8Array, rule: ArchiveRule, entry: string, options?: ExtractOptions): Promise<UnsafeArchiveError> {
  const error = await failure(directory, archive, options);
  assert.ok(error instanceof UnsafeArchiveError, `${String(error)}, and a refusal by rule ${rule} was expected`);
  assert.deepEqual([error.rule, error.entry], [rule, entry], error.message);
  assert.deepEqual(await tree(join(directory, `${count}`)), {});
  return error;
}

/** Expects the archive to be called invalid. */
export async function invalid(directory: string, archive: Uint8Array, problem: RegExp, entry?: string): Promise<void> {
  const error = await failure(directory, archive);
  assert.ok(error instanceof InvalidArchiveError, `${String(error)}, and an invalid archive was expected`);
  assert.match(error.message, problem);
  assert.equal(error.entry, entry, error.message);
}

async function failure(directory: string, archive: Uint8Array, options?: ExtractOptions): Promise<unknown> {
  return unpack(directory, archive, options).then(
    () => assert.fail('it was unpacked'),
    (error: unknown) => error,
  );
}
