/** The package that the benchmarks install: one large binary of real machine code, in as many zips as are wanted. */
import { open, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { constants, crc32, deflateRaw } from 'node:zlib';
import { promisify } from 'node:util';
import { findClient } from '../test/support/terraform.ts';
import type { ProviderRelease } from '../test/support/registry/index.ts';
import { zipArchive } from '../test/support/zip.ts';

export const VERSION = '1.0.0';
const BYTES = 90_000_000;

/** A piece of machine code, and itself deflated so that any number of copies can follow each other in one stream. */
export interface Code {
  readonly bytes: number;
  readonly plain: Buffer;
  readonly deflated: Buffer;
}

/** The end of a deflate stream: a last block that is empty. */
const LAST_BLOCK = Buffer.from([0x03, 0x00]);

/** 90 MB of machine code, which deflates to a third as providers do: terraform's own binary, else Node's, as often as it takes. */
export async function machineCode(): Promise<Code> {
  const terraform = findClient('terraform')?.path;
  const path = terraform !== undefined && (await stat(terraform)).size >= BYTES ? terraform : process.execPath;
  const once = await readStart(path);
  const plain = Buffer.alloc(BYTES);
  for (let at = 0; at < BYTES; at += once.length) once.copy(plain, at);
  // A full flush ends on a byte, and what follows looks back at nothing before it.
  const deflated = await promisify(deflateRaw)(plain, { finishFlush: constants.Z_FULL_FLUSH });
  return { bytes: BYTES, plain, deflated };
}

async function readStart(path: string): Promise<Buffer> {
  if ((await stat(path)).size < BYTES) return readFile(path);
  const handle = await open(path);
  try {
    const start = Buffer.alloc(BYTES);
    await handle.read(start, 0, BYTES, 0);
    return start;
  } finally {
    await handle.close();
  }
}

/** Writes a provider's zip with a binary of `copies` times the code. */
export async function writeRelease(directory: string, type: string, code: Code, copies = 1): Promise<ProviderRelease> {
  const zipPath = join(directory, `${type}.zip`);
  let crc = 0;
  for (let copy = 0; copy < copies; copy += 1) crc = crc32(code.plain, crc);
  const raw = Buffer.concat([...Array.from({ length: copies }, () => code.deflated), LAST_BLOCK]);
  const headers = { crc32: crc, size: copies * code.bytes };
  const zip = zipArchive([{ name: `terraform-provider-${type}_v${VERSION}_x5`, mode: 0o100755, raw, local: headers, central: headers }]);
  await writeFile(zipPath, zip);
  return { address: `acme/${type}`, version: VERSION, zipPath };
}
