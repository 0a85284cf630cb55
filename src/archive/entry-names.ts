/**
 * Which names an archive's entries may have, whatever kind of archive it is. A package is unpacked on one host and
 * read on others, and a shared cache may hold packages for Windows: so a name has to mean one path, the same one,
 * everywhere. Refused is what climbs out (`..`, absolute), what another system reads as something else (backslash, drive
 * and stream colons, device names, trailing dots and spaces, other case or normal form of a name that is there), and
 * what deceives in a log (control and bidirectional characters). Pure.
 */

/** NAME_MAX everywhere that matters; ext4, XFS and NFS count bytes. */
const SEGMENT_BYTES = 255;
/** PATH_MAX of Linux. */
const NAME_BYTES = 4096;

// C0, DEL, C1, line and paragraph separators, and the marks that reorder text.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
/** Windows opens a device for these, with any extension and in any directory. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])(?:\..*)?$/iu;

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The name as text, or `undefined` when its bytes are not UTF-8 (another encoding would be a guess, and h1 hashes the bytes). */
export function decodeEntryName(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** What is wrong with a name (a directory's without its final slash), or `undefined`. */
export function entryNameProblem(name: string): string | undefined {
  if (name === '') return 'its name is empty';
  if (name.includes('\0')) return 'its name holds a NUL character';
  if (CONTROL.test(name)) return 'its name holds a control character';
  if (name.includes('\\')) return 'its name holds a backslash, which is a separator on Windows';
  if (name.startsWith('/')) return 'its name is absolute';
  if (/^[a-z]:/iu.test(name)) return 'its name begins with a drive letter';
  if (name.includes(':')) return 'its name holds a colon, which names a stream on Windows';
  if (Buffer.byteLength(name) > NAME_BYTES) return `its name is longer than ${NAME_BYTES} bytes`;
  for (const segment of name.split('/')) {
    const problem = segmentProblem(segment);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function segmentProblem(segment: string): string | undefined {
  if (segment === '') return 'its name has an empty segment';
  if (segment === '..') return 'its name climbs out with ".."';
  if (segment === '.') return 'its name has the segment "."';
  if (/[. ]$/u.test(segment)) return 'a segment of its name ends with a dot or space, which Windows drops';
  if (DEVICE.test(segment)) return `${JSON.stringify(segment)} is a device on Windows`;
  if (Buffer.byteLength(segment) > SEGMENT_BYTES) return `a segment of its name is longer than ${SEGMENT_BYTES} bytes`;
  return undefined;
}

/** The tree that an archive's entries make. */
export interface EntryTree {
  /** Adds an entry and the directories above it; says what is wrong when it meets one that is there. */
  add(name: string, directory: boolean): string | undefined;
  /** Entries and implied directories so far. */
  readonly size: number;
  /** Every directory, parents first. */
  directories(): string[];
}

interface Node {
  readonly name: string;
  readonly directory: boolean;
  /** An entry of its own, not only implied by one below it. */
  explicit: boolean;
}

/** An empty tree. */
export function createEntryTree(): EntryTree {
  const nodes = new Map<string, Node>();
  const place = (name: string, directory: boolean, explicit: boolean): string | undefined => {
    const key = collisionKey(name);
    const there = nodes.get(key);
    if (there === undefined) {
      nodes.set(key, { name, directory, explicit });
      return undefined;
    }
    if (there.name !== name) return `its name differs from ${JSON.stringify(there.name)} only in case or Unicode normal form, and some file systems take them for one`;
    if (there.directory !== directory) return `${JSON.stringify(name)} is a file and a directory at once`;
    if (!directory || (explicit && there.explicit)) return 'its name is there twice';
    there.explicit ||= explicit;
    return undefined;
  };
  return {
    add: (name, directory) => {
      for (let slash = name.indexOf('/'); slash !== -1; slash = name.indexOf('/', slash + 1)) {
        const problem = place(name.slice(0, slash), true, false);
        if (problem !== undefined) return problem;
      }
      return place(name, directory, true);
    },
    get size() {
      return nodes.size;
    },
    directories: () => [...nodes.values()].filter((node) => node.directory).map((node) => node.name).sort(byDepth),
  };
}

/** Names with one key are one file on some file system: case folded in both directions (ß, ſ, ς), then NFC. */
function collisionKey(name: string): string {
  return name.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
}

function byDepth(a: string, b: string): number {
  return a.split('/').length - b.split('/').length;
}
