/**
 * Which names would a power cut take away? Told from the system calls: a name that was made (mkdir, rename, link) is durable once its directory
 * was synced after that. ext4 writes directories above a synced file by itself, so the loss of one cannot be made to happen there; other file
 * systems promise no such thing.
 */
import { dirname } from 'node:path';

/** The kinds of calls to trace. */
export const NAMING_CALLS = 'mkdir,mkdirat,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,fsync,fdatasync';

/** The names below `directory` that were made, are still there, and are in no synced state of their directory. Takes the lines of a trace. */
export function unsyncedNames(directory: string, lines: readonly string[]): string[] {
  const made = new Set<string>();
  const forget = (gone: string): void => {
    for (const path of made) if (path === gone || path.startsWith(`${gone}/`)) made.delete(path);
  };
  for (const [call, paths] of successfulCalls(lines)) {
    const [from = '', to = ''] = paths;
    if (call.startsWith('mkdir')) made.add(from);
    else if (call.startsWith('link')) made.add(to);
    else if (call.startsWith('rename')) {
      forget(from);
      made.add(to);
    } else if (call.startsWith('fsync')) for (const path of made) if (dirname(path) === from) made.delete(path);
    if (/^(?:unlink|rmdir)/u.test(call)) forget(from);
  }
  return [...made].filter((path) => path.startsWith(`${directory}/`)).map((path) => path.slice(directory.length + 1));
}

/** A call that another thread cut in two is counted where it ended. */
function* successfulCalls(lines: readonly string[]): Generator<[string, string[]]> {
  const unfinished = new Map<string, string>();
  for (const line of lines) {
    const [, thread = '', text = ''] = /^(\d+)\s+(.*)$/u.exec(line) ?? [];
    if (text.endsWith('<unfinished ...>')) {
      unfinished.set(thread, text.slice(0, text.lastIndexOf('<unfinished')));
      continue;
    }
    const whole = text.startsWith('<... ') ? `${unfinished.get(thread) ?? ''}${text.slice(text.indexOf('resumed>') + 'resumed>'.length)}` : text;
    const call = /^(\w+)\((.*)\)\s+= 0/u.exec(whole);
    const paths = [...(call?.[2] ?? '').matchAll(/"([^"]*)"|^\d+<([^>]*)>/gu)].map(([, quoted, opened]) => quoted ?? opened ?? '');
    if (call?.[1] !== undefined) yield [call[1], paths];
  }
}
