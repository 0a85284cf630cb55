/**
 * Calls that are made on a thread of their own: those that block, or that keep the event loop from its work. Both sides of
 * it are here: {@link startThread} for the caller, {@link answerCalls} for the program that runs on the thread.
 */
import { parentPort, Worker } from 'node:worker_threads';

/** A running thread. Only while it is being waited for does it keep the process alive. */
export interface Thread<Request, Answer> {
  /** Rejects with the error of the call, of which only message and `code` cross the border, or because the thread ended. */
  call(request: Request): Promise<Answer>;
  /** Whether it can still be called. */
  readonly running: boolean;
  /** Ends it; calls under way reject. */
  end(): Promise<void>;
}

interface Call<Request> {
  readonly id: number;
  readonly request: Request;
}

type Reply<Answer> = { readonly id: number; readonly answer: Answer } | { readonly id: number; readonly message: string; readonly code: string | undefined };

interface Pending<Answer> {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** Starts the program of a thread, named beside the caller: its ending is the caller's own ('.js' compiled, '.ts' where Node strips types). */
export function startThread<Request, Answer>(program: string, caller: string): Thread<Request, Answer> {
  const worker = new Worker(new URL(`${program}${caller.slice(-3)}`, caller), { execArgv: [] });
  const pending = new Map<number, Pending<Answer>>();
  let calls = 0;
  let running = true;
  const onEnd = (error: Error): void => {
    running = false;
    for (const { reject } of pending.values()) reject(error);
    pending.clear();
  };
  worker.on('message', (reply: Reply<Answer>) => {
    const waiting = pending.get(reply.id);
    pending.delete(reply.id);
    if (pending.size === 0) worker.unref();
    if ('answer' in reply) waiting?.resolve(reply.answer);
    else waiting?.reject(Object.assign(new Error(reply.message), { code: reply.code }));
  });
  worker.on('error', onEnd);
  worker.on('exit', () => {
    onEnd(new Error(`the thread of ${program} ended`));
  });
  // After the listeners: the first one takes the thread into account again, and a process that never called it would not end.
  worker.unref();
  return {
    get running() {
      return running;
    },
    call: (request) =>
      new Promise<Answer>((resolve, reject) => {
        if (!running) {
          reject(new Error(`the thread of ${program} ended`));
          return;
        }
        calls += 1;
        pending.set(calls, { resolve, reject });
        worker.ref();
        worker.postMessage({ id: calls, request } satisfies Call<Request>);
      }),
    end: async () => {
      await worker.terminate();
    },
  };
}

/** Answers every call with what `work` yields, one after the other where it is synchronous. */
export function answerCalls(work: (request: unknown) => unknown): void {
  const port = parentPort;
  port?.on('message', ({ id, request }: Call<unknown>) => {
    Promise.resolve()
      .then(() => work(request))
      .then(
        (answer): Reply<unknown> => ({ id, answer }),
        (error: unknown): Reply<unknown> => {
          const { message, code } = error as NodeJS.ErrnoException;
          return { id, message, code };
        },
      )
      .then((reply) => {
        port.postMessage(reply);
      })
      .catch(() => undefined);
  });
}
