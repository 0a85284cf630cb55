/** Child programs of a test: started with an IPC channel, heard message by message, and ended with the test. */
import { fork } from 'node:child_process';
import type { ChildProcess, ForkOptions } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';

/** How a child ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running child program. */
export interface Child {
  readonly process: ChildProcess;
  /** The next message that nobody has taken yet; rejects when the child ends without one. */
  readonly message: () => Promise<unknown>;
  readonly ended: Promise<Ending>;
}

/** Starts a compiled program, usually `new URL('./fixtures/x.js', import.meta.url)`. It is killed after the test, if it still runs. */
export function startChild(t: TestContext, program: URL, args: readonly string[] = [], options: ForkOptions = {}): Child {
  const child = fork(program, args, { ...options, execArgv: [] });
  const messages: unknown[] = [];
  const waiting: (() => void)[] = [];
  let ending: Ending | undefined;
  const wake = (): void => {
    for (const resume of waiting.splice(0)) resume();
  };
  child.on('message', (message: unknown) => {
    messages.push(message);
    wake();
  });
  // Messages may still arrive after the exit, none after the disconnect. ('close' never comes when it is the parent that disconnects.)
  const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect')]).then(([[code, signal]]): Ending => {
    ending = { code: code as number | null, signal: signal as NodeJS.Signals | null };
    wake();
    return ending;
  });
  t.after(async () => {
    if (ending === undefined) child.kill('SIGKILL');
    await ended;
  });
  const message = async (): Promise<unknown> => {
    while (messages.length === 0) {
      if (ending !== undefined) throw new Error(`${program.pathname} ended (${ending.code ?? ending.signal ?? ''}) without a message`);
      await new Promise<void>((resume) => waiting.push(resume));
    }
    return messages.shift();
  };
  return { process: child, message, ended };
}
