/**
 * What an installation cannot do without, one step after the other, by the core alone: fetch, write the zip, SHA-256 of it, inflate, SHA-256, write.
 * It asks no registry, checks no signature and no CRC, and syncs nothing.
 */
import { createHash } from 'node:crypto';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';

const { url, directory } = JSON.parse(process.argv[2] ?? '') as { url: string; directory: string };

const response = await fetch(url);
const zip = Buffer.from(await response.arrayBuffer());
await writeFile(join(directory, 'package.zip'), zip);
const zipHash = createHash('sha256').update(zip).digest('hex');

// One entry, with its sizes in its local header.
const nameLength = zip.readUInt16LE(26);
const name = zip.toString('utf8', 30, 30 + nameLength);
const start = 30 + nameLength + zip.readUInt16LE(28);
const binary = await promisify(inflateRaw)(zip.subarray(start, start + zip.readUInt32LE(18)));
const hash = createHash('sha256').update(binary).digest('hex');
const path = join(directory, name);
await writeFile(path, binary);
await chmod(path, 0o555);
process.stdout.write(JSON.stringify({ zipHash, hash }));
