/** Child programs of the benchmarks: run to their end and timed, or started and talked to. */
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** One run of a program, from spawn to exit. */
export interface Run {
  readonly milliseconds: number;
  /** What it wrote to standard output, as JSON; `undefined` if it wrote nothing. */
  readonly answer: unknown;
}

/** Runs `programs/<name>` with arguments that travel as JSON. */
export async function runProgram(name: string, args: unknown = {}): Promise<Run> {
  const program = fileURLToPath(new URL(`./programs/${name}.js`, import.meta.url));
  const begun = performance.now();
  const child = spawn(process.execPath, [program, JSON.stringify(args)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  const milliseconds = performance.now() - begun;
  if (code !== 0) throw new Error(`${program} ended with ${code ?? signal ?? 'nothing'}`);
  return { milliseconds, answer: output === '' ? undefined : JSON.parse(output) };
}

/** Starts `programs/<name>`, and waits until it says that it is ready. */
export async function startProgram(name: string, args: unknown): Promise<ChildProcess> {
  const child = fork(new URL(`./programs/${name}.js`, import.meta.url), [JSON.stringify(args)]);
  await message(child);
  return child;
}

/** The next message of a child; rejects when it ends instead. */
export async function message(child: ChildProcess): Promise<unknown> {
  const given = new AbortController();
  const ended = once(child, 'exit', { signal: given.signal }).then(() => {
    throw new Error('A child ended without an answer');
  });
  ended.catch(() => undefined);
  try {
    const [answer] = (await Promise.race([once(child, 'message', { signal: given.signal }), ended])) as [unknown];
    return answer;
  } finally {
    given.abort();
  }
}
