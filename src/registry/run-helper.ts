/**
 * Runs a credentials helper once (svcauthconfig `helper_program.go`): its arguments, then `get` and the host in punycode; one JSON object
 * on its standard output. Bounded in time and in output, and ended with everything it has started when its caller leaves.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { abortReason, onAbort } from '../abort.ts';
import { systemErrorName } from '../system-errors.ts';
import type { Environment } from './credentials.ts';
import { concealSecrets } from './conceal-secrets.ts';

/** A helper and how it is called. */
export interface HelperCall {
  /** The program's path. */
  readonly program: string;
  /** What stands before `get`. */
  readonly args: readonly string[];
  /** The host, in ASCII form. */
  readonly host: string;
  /** All that the program sees of the environment. */
  readonly environment: Environment;
  /** How long it may take, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What it printed, or what is wrong with it in words that hold no secret. */
export type HelperOutput = { readonly output: string; readonly problem?: undefined } | { readonly output?: undefined; readonly problem: string; readonly cause?: unknown };

/** The longest answer that is read. A token of a cloud takes up to some kilobytes. */
const MAX_OUTPUT_BYTES = 64 * 1024;

/** How much of what it complains about is shown; the rest is read and dropped, so that it is not held up. */
const MAX_COMPLAINT_BYTES = 1024;

/** Resolves when it has ended, or has been ended; rejects only with the signal's reason, at once. */
export async function runHelper({ program, args, host, environment, timeoutMs, signal }: HelperCall): Promise<HelperOutput> {
  signal.throwIfAborted();
  return new Promise<HelperOutput>((resolve, reject) => {
    let child: ChildProcess;
    try {
      // In a group of its own, so that what it has started ends with it: a shell leaves its `sleep` behind, which holds the pipes open.
      child = spawn(program, [...args, 'get', host], { stdio: ['ignore', 'pipe', 'pipe'], env: environment, detached: process.platform !== 'win32', windowsHide: true });
    } catch (cause) {
      resolve({ problem: 'it could not be started', cause });
      return;
    }
    const answer = collect(MAX_OUTPUT_BYTES);
    const complaint = collect(MAX_COMPLAINT_BYTES);

    function leave(): void {
      clearTimeout(timer);
      unfollow();
      endGroup(child);
      child.stdout?.destroy();
      child.stderr?.destroy();
      child.unref();
    }
    function settle(outcome: HelperOutput): void {
      leave();
      resolve(outcome);
    }

    const timer = setTimeout(() => {
      settle({ problem: `it did not end within ${timeoutMs} ms, and was killed` });
    }, timeoutMs);
    const unfollow = onAbort(signal, () => {
      leave();
      reject(abortReason(signal));
    });
    child.stdout?.on('data', (chunk: Buffer) => {
      answer.add(chunk);
      if (answer.overflown) settle({ problem: `it printed more than ${MAX_OUTPUT_BYTES} bytes, and was killed` });
    });
    child.stderr?.on('data', complaint.add);
    child.once('error', (cause) => {
      settle({ problem: `it could not be started: ${systemErrorName(cause) ?? 'for no reason that the system names'}`, cause });
    });
    child.once('close', (code, killedBy) => {
      const output = answer.text();
      if (code === 0) settle({ output });
      else settle({ problem: failureText(code, killedBy, complaint, output, environment) });
    });
  });
}

function failureText(code: number | null, killedBy: NodeJS.Signals | null, complaint: Collected, output: string, environment: Environment): string {
  const ending = code === null ? `it was ended by ${killedBy ?? 'a signal'}` : `it ended with ${code}`;
  const text = concealSecrets(complaint.text(), { output, environment });
  return text === '' ? `${ending} and said nothing` : `${ending} and said ${JSON.stringify(complaint.overflown ? `${text}…` : text)}`;
}

/** SIGKILL to the helper and all that it has started. A group that is gone already is as it should be. */
function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    // Nobody is left in it.
  }
}

interface Collected {
  readonly add: (chunk: Buffer) => void;
  readonly text: () => string;
  /** Whether more came than was kept. */
  readonly overflown: boolean;
}

function collect(limit: number): Collected {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    add(chunk) {
      if (bytes < limit) chunks.push(chunk.subarray(0, limit - bytes));
      bytes += chunk.length;
    },
    text: () => Buffer.concat(chunks).toString('utf8'),
    get overflown() {
      return bytes > limit;
    },
  };
}
