/**
 * Makes what a program complained about fit for a message: one short line of plain text, without anything that is known to be a
 * secret or looks like one. It rather hides a word too many. Pure.
 */
import type { Environment } from './credentials.ts';

/** What is known to hold secrets. */
export interface KnownSecrets {
  /** What the program printed as its answer: every string in it is one. */
  readonly output: string;
  /** The environment: the values of variables whose names speak of secrets. */
  readonly environment: Environment;
}

const HIDDEN = '…';

const SECRET_NAME = /token|secret|passw|credential|api_?key|access_?key|private|auth/iu;

/** Shorter values hide nothing, and would tear ordinary words apart. */
const SHORTEST = 4;

/** A scheme or name of a secret, and what follows it: `Bearer abc`, `token=abc`, `"password": "abc"`. */
const NAMED = /\b(bearer|basic|(?:[\w-]*(?:token|secret|passw(?:or)?d|credentials?|key|authorization))["']?\s*[:=])(\s*)(?:"[^"]*"|'[^']*'|\S+)/giu;

const USER_INFO = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/giu;

/** A long run of what keys are written in, with letters and digits in it. Paths and host names have separators, and stay. */
const OPAQUE = /[\w+=~-]{20,}/gu;

/** The text without control characters and secrets. */
export function concealSecrets(text: string, known: KnownSecrets): string {
  let plain = text.replaceAll(/[\u0000-\u0020\u007f-\u009f\u2028\u2029]+/gu, ' ').trim();
  for (const secret of knownSecrets(known)) plain = plain.replaceAll(secret, HIDDEN);
  return plain
    .replaceAll(USER_INFO, `$1${HIDDEN}@`)
    .replaceAll(NAMED, `$1$2${HIDDEN}`)
    .replaceAll(OPAQUE, (run) => (/\d/u.test(run) && /[A-Za-z]/u.test(run) ? HIDDEN : run));
}

/** The longest first: one may be part of another. */
function knownSecrets({ output, environment }: KnownSecrets): string[] {
  const values = Object.entries(environment).filter(([name]) => SECRET_NAME.test(name)).map(([, value]) => value ?? '');
  // Quotes of JSON end a string, and so do spaces: the parts of what is no JSON count as well.
  const printed = output.split(/[\s"'{}[\],]+/u);
  return [...new Set([...values, ...printed].map((value) => value.trim()))].filter((value) => value.length >= SHORTEST).sort((a, b) => b.length - a.length);
}
