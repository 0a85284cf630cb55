/**
 * Writes zip archives byte by byte, good ones and every kind of bad one. `makeZip` is enough for a package; where a
 * test needs a lie, `zipArchive` takes it: `local` and `central` overwrite single header fields, `raw` replaces the stored bytes.
 */
import { crc32, deflateRawSync } from 'node:zlib';

/** Header fields that a test may falsify in one of the two headers. */
export interface HeaderFields {
  readonly name: string | Uint8Array;
  readonly flags: number;
  readonly method: number;
  readonly crc32: number;
  readonly compressedSize: number;
  readonly size: number;
  readonly extra: Uint8Array;
  /** Central header only. */
  readonly offset: number;
}

export interface ZipEntry {
  /** Ends with '/' for a directory. */
  readonly name: string | Uint8Array;
  readonly data?: string | Uint8Array | undefined;
  /** Unix mode with its type bits; 0o100644, or 0o40755 for a name that ends with '/'. */
  readonly mode?: number | undefined;
  /** The system that made the entry: 3 is Unix, 0 is DOS (then no mode is written unless given). */
  readonly madeBy?: number | undefined;
  /** All 32 bits at once, instead of `mode`. */
  readonly externalAttributes?: number | undefined;
  readonly stored?: boolean | undefined;
  /** Sizes and CRC stand behind the data; the local header holds zeros. */
  readonly dataDescriptor?: boolean | undefined;
  /** Sizes and offset stand in a zip64 extra field of both headers. */
  readonly zip64?: boolean | undefined;
  /** The bytes in the archive, when they are not those that the method gives for `data`. */
  readonly raw?: Uint8Array | undefined;
  /** Lies of the local header. */
  readonly local?: Partial<HeaderFields> | undefined;
  /** Lies of the central header. */
  readonly central?: Partial<HeaderFields> | undefined;
  /** Writes only a central header, pointing at the data of the entry with this index. */
  readonly sharesDataOf?: number | undefined;
}

export interface ZipOptions {
  readonly comment?: string | Uint8Array | undefined;
  /** Bytes before the first local header; the offsets count them. */
  readonly prepend?: Uint8Array | undefined;
  readonly append?: Uint8Array | undefined;
  /** Bytes between the last entry and the central directory. */
  readonly gap?: Uint8Array | undefined;
  /** Writes zip64 end records. */
  readonly zip64?: boolean | undefined;
  /** A lie about the number of entries. */
  readonly entryCount?: number | undefined;
  /** A lie about where the central directory starts. */
  readonly directoryOffset?: number | undefined;
}

/** A good archive of these files, deflated, 0644; values are contents, or entries without their name. */
export function makeZip(files: Readonly<Record<string, string | Uint8Array | Omit<ZipEntry, 'name'>>>): Buffer {
  return zipArchive(
    Object.entries(files).map(([name, file]) => (typeof file === 'string' || file instanceof Uint8Array ? { name, data: file } : { ...file, name })),
  );
}

/** An archive with whatever is wrong with it. */
export function zipArchive(entries: readonly ZipEntry[], options: ZipOptions = {}): Buffer {
  const prepend = options.prepend ?? new Uint8Array();
  const body: Uint8Array[] = [prepend];
  const directory: Uint8Array[] = [];
  const offsets: number[] = [];
  let at = prepend.length;
  for (const entry of entries) {
    const truth = truthOf(entry);
    const offset = entry.sharesDataOf === undefined ? at : (offsets[entry.sharesDataOf] ?? 0);
    offsets.push(offset);
    if (entry.sharesDataOf === undefined) {
      const parts = localParts(entry, truth);
      body.push(...parts);
      at += parts.reduce((sum, part) => sum + part.length, 0);
    }
    directory.push(centralHeader(entry, truth, offset));
  }
  const gap = options.gap ?? new Uint8Array();
  const central = Buffer.concat(directory);
  const end = endRecords(options, { entries: entries.length, size: central.length, offset: at + gap.length });
  return Buffer.concat([...body, gap, central, end, options.append ?? new Uint8Array()]);
}

/** A deflate stream of `size` zero bytes: about a thousandth of that. */
export function zeros(size: number): Buffer {
  return deflateRawSync(Buffer.alloc(size), { level: 9 });
}

/** An Info-ZIP Unicode path field (0x7075), which some tools believe instead of the name in the header. */
export function unicodePathField(headerName: string, otherName: string): Buffer {
  const name = Buffer.from(otherName);
  const field = Buffer.alloc(9 + name.length);
  field.writeUInt16LE(0x7075, 0);
  field.writeUInt16LE(5 + name.length, 2);
  field.writeUInt8(1, 4);
  field.writeUInt32LE(crc32(headerName), 5);
  name.copy(field, 9);
  return field;
}

type Truth = HeaderFields & { readonly raw: Uint8Array };

function truthOf(entry: ZipEntry): Truth {
  const data = typeof entry.data === 'string' ? Buffer.from(entry.data) : (entry.data ?? Buffer.alloc(0));
  const directory = Buffer.from(entry.name).at(-1) === 0x2f;
  const stored = entry.stored ?? directory;
  const raw = entry.raw ?? (stored ? data : deflateRawSync(data));
  return {
    name: entry.name,
    // Bit 11: the name is UTF-8; bit 3: a data descriptor follows.
    flags: 0x800 | (entry.dataDescriptor === true ? 0x8 : 0),
    method: stored ? 0 : 8,
    crc32: crc32(data),
    compressedSize: raw.length,
    size: data.length,
    extra: new Uint8Array(),
    offset: 0,
    raw,
  };
}

function localParts(entry: ZipEntry, truth: Truth): Uint8Array[] {
  const late = entry.dataDescriptor === true ? { crc32: 0, compressedSize: 0, size: 0 } : {};
  const fields = { ...truth, ...late, ...entry.local };
  const zip64 = entry.zip64 === true && entry.dataDescriptor !== true;
  const extra = zip64 ? Buffer.concat([zip64Field([fields.size, fields.compressedSize]), fields.extra]) : fields.extra;
  const name = Buffer.from(fields.name);
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(zip64 ? 45 : 20, 4);
  writeCommon(header, 6, fields, zip64);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(extra.length, 28);
  return [header, name, extra, truth.raw, ...(entry.dataDescriptor === true ? [dataDescriptor(truth, entry.zip64 === true)] : [])];
}

function centralHeader(entry: ZipEntry, truth: Truth, offset: number): Buffer {
  const fields = { ...truth, offset, ...entry.central };
  const zip64 = entry.zip64 === true;
  const extra = zip64 ? Buffer.concat([zip64Field([fields.size, fields.compressedSize, fields.offset]), fields.extra]) : fields.extra;
  const name = Buffer.from(fields.name);
  const madeBy = entry.madeBy ?? 3;
  const directory = name.at(-1) === 0x2f;
  const mode = entry.mode ?? (madeBy === 3 ? (directory ? 0o40755 : 0o100644) : 0);
  const header = Buffer.alloc(46);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE((madeBy << 8) | 30, 4);
  header.writeUInt16LE(zip64 ? 45 : 20, 6);
  writeCommon(header, 8, fields, zip64);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt16LE(extra.length, 30);
  header.writeUInt32LE(entry.externalAttributes ?? ((mode << 16) | (directory ? 0x10 : 0)) >>> 0, 38);
  header.writeUInt32LE(zip64 ? 0xffffffff : fields.offset, 42);
  return Buffer.concat([header, name, extra]);
}

/** Flags, method, time, date, CRC and sizes have one order in both headers. */
function writeCommon(header: Buffer, at: number, fields: HeaderFields, zip64: boolean): void {
  header.writeUInt16LE(fields.flags, at);
  header.writeUInt16LE(fields.method, at + 2);
  header.writeUInt16LE(0x6000, at + 4);
  header.writeUInt16LE(0x5a21, at + 6);
  header.writeUInt32LE(fields.crc32, at + 8);
  header.writeUInt32LE(zip64 ? 0xffffffff : fields.compressedSize, at + 12);
  header.writeUInt32LE(zip64 ? 0xffffffff : fields.size, at + 16);
}

function zip64Field(values: readonly number[]): Buffer {
  const field = Buffer.alloc(4 + values.length * 8);
  field.writeUInt16LE(1, 0);
  field.writeUInt16LE(values.length * 8, 2);
  values.forEach((value, index) => field.writeBigUInt64LE(BigInt(value), 4 + index * 8));
  return field;
}

function dataDescriptor(truth: Truth, zip64: boolean): Buffer {
  const descriptor = Buffer.alloc(zip64 ? 24 : 16);
  descriptor.writeUInt32LE(0x08074b50, 0);
  descriptor.writeUInt32LE(truth.crc32, 4);
  if (zip64) {
    descriptor.writeBigUInt64LE(BigInt(truth.compressedSize), 8);
    descriptor.writeBigUInt64LE(BigInt(truth.size), 16);
  } else {
    descriptor.writeUInt32LE(truth.compressedSize, 8);
    descriptor.writeUInt32LE(truth.size, 12);
  }
  return descriptor;
}

function endRecords(options: ZipOptions, truth: { readonly entries: number; readonly size: number; readonly offset: number }): Buffer {
  const comment = Buffer.from(options.comment ?? '');
  const entries = options.entryCount ?? truth.entries;
  const offset = options.directoryOffset ?? truth.offset;
  const records: Buffer[] = [];
  if (options.zip64 === true) {
    const record = Buffer.alloc(56);
    record.writeUInt32LE(0x06064b50, 0);
    record.writeBigUInt64LE(44n, 4);
    record.writeUInt16LE(45, 12);
    record.writeUInt16LE(45, 14);
    record.writeBigUInt64LE(BigInt(entries), 24);
    record.writeBigUInt64LE(BigInt(entries), 32);
    record.writeBigUInt64LE(BigInt(truth.size), 40);
    record.writeBigUInt64LE(BigInt(offset), 48);
    const locator = Buffer.alloc(20);
    locator.writeUInt32LE(0x07064b50, 0);
    locator.writeBigUInt64LE(BigInt(truth.offset + truth.size), 8);
    locator.writeUInt32LE(1, 16);
    records.push(record, locator);
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(options.zip64 === true ? 0xffff : entries & 0xffff, 8);
  end.writeUInt16LE(options.zip64 === true ? 0xffff : entries & 0xffff, 10);
  end.writeUInt32LE(options.zip64 === true ? 0xffffffff : truth.size, 12);
  end.writeUInt32LE(options.zip64 === true ? 0xffffffff : offset, 16);
  end.writeUInt16LE(comment.length, 20);
  return Buffer.concat([...records, end, comment]);
}
