/**
 * New text for a dependency lock file. A provider's block is written byte for byte as the reference writes it (`SaveLocksToBytes`); everything that did
 * not have to change stays byte for byte as it was, comments, order and line breaks included. Pure.
 */
import { quoteHcl } from '../hcl/index.ts';
import type { ProviderAddress } from '../layout/index.ts';
import { amendBlock } from './dependency-locks-amend.ts';
import { applyEdits, endOfLine, hashListText, isWithin, startOfNextLine, withEol, type Edit } from './dependency-locks-edits.ts';
import { compareBytes, type LockedBlock, type ParsedLocks } from './dependency-locks-parse.ts';
import type { LockedProvider } from './dependency-locks-types.ts';

/** The programs whose headers are known. */
export type LockFileTool = 'terraform' | 'tofu';

const HEADER = /^# This file is maintained automatically by "[^"\n]*"\.$|^# Manual edits may be lost in future updates\.$/u;

/** The two comment lines that the programs begin a lock file with. */
function headerOf(tool: LockFileTool): string {
  return `# This file is maintained automatically by "${tool} init".\n# Manual edits may be lost in future updates.\n`;
}

/**
 * The text after `wanted` has taken the place of what the file says about these providers. Blocks are replaced where they stand; new ones come where
 * the order of the addresses has them. A file without any text gets the header of `tool`.
 */
export function textWith(parsed: ParsedLocks, wanted: readonly LockedProvider[], tool: LockFileTool): string {
  const eol = /\r?\n/u.exec(parsed.text)?.[0] ?? '\n';
  const present = new Map(parsed.blocks.map((block) => [String(block.locked.address), block]));
  const edits: Edit[] = [];
  const added: LockedProvider[] = [];
  for (const locked of wanted) {
    const there = present.get(String(locked.address));
    if (there === undefined) added.push(locked);
    else if (!isSameLock(there.locked, locked)) edits.push(...replacementOf(parsed, there, locked, eol));
  }
  added.sort((a, b) => compareAddresses(a.address, b.address));
  return applyEdits(parsed.text, [...edits, ...insertions(parsed, added, tool, eol)]);
}

/** Whether both say the same. */
export function isSameLock(a: LockedProvider, b: LockedProvider): boolean {
  return String(a.version) === String(b.version) && String(a.constraints ?? '') === String(b.constraints ?? '') && a.hashes.length === b.hashes.length && a.hashes.every((hash, index) => hash === b.hashes[index]);
}

/** The block without a line break behind it. `=` is aligned over the lines before the list only. */
function blockText({ address, version, constraints, hashes }: LockedProvider): string {
  const pad = constraints === undefined ? ' ' : '     ';
  const lines = [`provider ${quoteHcl(String(address), 'hcl2')} {`, `  version${pad}= ${quoteHcl(String(version), 'hcl2')}`];
  if (constraints !== undefined) lines.push(`  constraints = ${quoteHcl(String(constraints), 'hcl2')}`);
  if (hashes.length > 0) lines.push(`  hashes = ${hashListText(hashes)}`);
  return [...lines, '}'].join('\n');
}

/** The whole block anew, or, where somebody wrote comments into it, only what differs. */
function replacementOf(parsed: ParsedLocks, there: LockedBlock, wanted: LockedProvider, eol: string): readonly Edit[] {
  const { range, body } = there.block;
  const hasComments = parsed.file.comments.some((comment) => isWithin(comment, range));
  if (hasComments && body.range.start.line < body.range.end.line) return amendBlock(parsed, there, wanted, eol);
  return [{ start: range.start.offset, end: range.end.offset, text: withEol(blockText(wanted), eol) }];
}

/** The reference orders by host (punycode), namespace and type, each by its bytes. */
function compareAddresses(a: ProviderAddress, b: ProviderAddress): number {
  return compareBytes(a.hostnameAscii, b.hostnameAscii) || compareBytes(a.namespace, b.namespace) || compareBytes(a.type, b.type);
}

// ---- new blocks ----------------------------------------------------------------------------------------------------

function insertions(parsed: ParsedLocks, added: readonly LockedProvider[], tool: LockFileTool, eol: string): Edit[] {
  const groups = new Map<LockedBlock | undefined, LockedProvider[]>();
  for (const locked of added) {
    const before = parsed.blocks.findLast((there) => compareAddresses(there.locked.address, locked.address) < 0);
    groups.set(before, [...(groups.get(before) ?? []), locked]);
  }
  return Array.from(groups, ([before, group]) => {
    const text = withEol(`${group.map(blockText).join('\n\n')}\n`, eol);
    return before === undefined ? insertFirst(parsed, text, tool, eol) : insertAfter(parsed, before.block.range.end.offset, text, eol);
  });
}

function insertAfter({ text, file }: ParsedLocks, blockEnd: number, added: string, eol: string): Edit {
  const lineEnd = endOfLine(text, file.comments, blockEnd);
  const next = startOfNextLine(text, lineEnd);
  if (next === lineEnd) return { start: next, end: next, text: `${eol}${eol}${added}` };
  const follows = text.slice(next);
  const gap = follows === '' || /^[ \t]*(?:\r?\n|$)/u.test(follows) ? '' : eol;
  return { start: next, end: next, text: `${eol}${added}${gap}` };
}

/** Before all other blocks: behind the header, and before the comments that belong to the first block. */
function insertFirst({ text, file }: ParsedLocks, added: string, tool: LockFileTool, eol: string): Edit {
  const [first] = file.items;
  if (first === undefined) {
    const isBlank = text.replace(/^\ufeff/u, '').trim() === '';
    const lead = isBlank ? `${withEol(headerOf(tool), eol)}${eol}` : text.endsWith('\n') ? eol : `${eol}${eol}`;
    const start = isBlank ? Number(text.startsWith('\ufeff')) : text.length;
    return { start, end: text.length, text: `${lead}${added}` };
  }
  let start = first.range.start.offset;
  for (const comment of file.comments.filter(({ end }) => end.offset <= start).toReversed()) {
    const between = text.slice(comment.end.offset, start);
    if (between.split('\n').length > 2 || HEADER.test(text.slice(comment.start.offset, comment.end.offset))) break;
    start = comment.start.offset;
  }
  const before = text.slice(0, start).replace(/^\ufeff/u, '');
  const gap = before.trim() === '' || /\n[ \t]*\r?\n[ \t]*$/u.test(before) ? '' : eol;
  return { start, end: start, text: `${gap}${added}${eol}` };
}
