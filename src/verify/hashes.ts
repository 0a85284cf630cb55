export async function hashDirectory(path: string, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<string> {
  await Promise.resolve();
  throw new Error(`Not written yet: ${path}, ${Object.keys(options).length}`);
}

export async function hashZipFile(path: string, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<string> {
  await Promise.resolve();
  throw new Error(`Not written yet: ${path}, ${Object.keys(options).length}`);
}

/** Options of {@link hashZipContents}. */
export interface HashZipOptions {
  /**
   * `'count'` (default) hashes directory entries as empty files, as the reference does; `'skip'` leaves them out, which
   * gives the hash of the unpacked directory.
   */
  readonly directoryEntries?: 'count' | 'skip' | undefined;
  /** Ends the hashing. */
  readonly signal?: AbortSignal | undefined;
}

export async function hashZipContents(path: string, options: HashZipOptions = {}): Promise<string> {
  await Promise.resolve();
  throw new Error(`Not written yet: ${path}, ${Object.keys(options).length}`);
}
