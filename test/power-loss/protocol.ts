/**
 * What host and guest tell each other: the host a task, in a file of its own; the guest lines of JSON on its console. A line that the host has
 * read whole was told before the cut, whatever became of the machine's disk.
 */
import { writeSync } from 'node:fs';
import type { Origin } from './content.ts';

/** The kinds of things that writers publish. */
export type Kind = 'file' | 'directory' | 'package';

/** What may be left out, to show that it is needed: the syncs of files, or of directories. */
export type Sync = 'files' | 'directories';

/** A success, as a caller was told it. */
export interface Told extends Origin {
  readonly line: 'told';
  readonly kind: Kind;
  /** Of the file or directory, below its place; of a package `type/version`. */
  readonly name: string;
  /** Whether it was this writer's content that was published; otherwise something was there, and was kept. */
  readonly published: boolean;
}

/** Something that is not as it was told, or as it has to be. */
export interface Finding {
  /** `broken`: visible, told or not, and not whole. `after`: something that should work afterwards, and does not. */
  readonly kind: 'missing' | 'broken' | 'temporary' | 'unrecorded' | 'after';
  readonly of: Kind | 'cache';
  readonly what: string;
}

/** What the guest says. */
export type Line =
  | Told
  /** A writer has published one thing of each of its kinds. */
  | { readonly line: 'begun'; readonly by: number }
  /** The check is done. There may be thousands of findings: these are the numbers of all, and some of each. */
  | { readonly line: 'checked'; readonly counts: Partial<Record<Finding['kind'], number>>; readonly examples: readonly Finding[] }
  | { readonly line: 'failed'; readonly what: string };

/** What a writer does. */
export interface Writing {
  readonly kinds: readonly Kind[];
  /** Publishes one thing of each kind, and then nothing more. */
  readonly once: boolean;
  readonly without: readonly Sync[];
}

/** Where a round's things are. */
export interface Place {
  readonly round: number;
  /** The cache's directory. */
  readonly cache: string;
  /** Holds `files`, `directories` and `staging`. */
  readonly home: string;
}

/** One boot: first what the boot before it wrote is checked, then the next things are written until the power is cut. */
export interface Task {
  readonly check?: { readonly place: Place; readonly told: readonly Told[]; readonly earlier: readonly Told[] } | undefined;
  readonly write?: { readonly place: Place; readonly writers: readonly Writing[] } | undefined;
}

/** Says it on the guest's console, in one call, and without a buffer that a cut could take away. */
export function tell(line: Line): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** A line of the guest; `undefined` for what others say on the console, and for the line that the cut has cut. */
export function parseLine(text: string): Line | undefined {
  if (!text.startsWith('{"line":')) return undefined;
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}
