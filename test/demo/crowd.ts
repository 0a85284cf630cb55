/** The processes of the demo, started together and let go together. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { WorkerAnswer, WorkerTask } from './worker.ts';

/** Starts so many, waits until all are ready, lets them ask at once, and answers what each saw, the quickest first. */
export async function askAtOnce(count: number, task: WorkerTask): Promise<WorkerAnswer[]> {
  const workers = Array.from({ length: count }, () => fork(new URL('./worker.js', import.meta.url), [JSON.stringify(task)]));
  try {
    await Promise.all(workers.map(messageOf));
    const answers = workers.map(async (worker) => {
      const answer = messageOf(worker);
      worker.send('go');
      return (await answer) as WorkerAnswer;
    });
    return (await Promise.all(answers)).sort((a, b) => a.milliseconds - b.milliseconds);
  } finally {
    for (const worker of workers) if (worker.connected) worker.kill();
  }
}

async function messageOf(worker: ChildProcess): Promise<unknown> {
  const stop = new AbortController();
  try {
    const message = once(worker, 'message', { signal: stop.signal }).then(([text]: unknown[]) => text);
    const exit = once(worker, 'exit', { signal: stop.signal }).then(([code, signal]) => {
      throw new Error(`A process of the demo ended (${String(signal ?? code)}) before it answered`);
    });
    return await Promise.race([message, exit]);
  } finally {
    stop.abort();
  }
}
