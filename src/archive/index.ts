/** Unpacking archives that strangers made: one pass, one set of entry rules, and limits. */
export { copyTree } from './copy-tree.ts';
export type { CopyTreeOptions } from './copy-tree.ts';
export { extractZip } from './extract-zip.ts';
export type { ExtractedFile, ExtractOptions, ExtractProgress } from './extract-zip.ts';
export type { OpenFile } from '../atomic/index.ts';
export { hashZipEntries } from './hash-zip.ts';
export type { HashedEntry } from './hash-zip.ts';
export { DEFAULT_ARCHIVE_LIMITS } from './limits.ts';
export type { ArchiveLimits, ResolvedLimits } from './limits.ts';
