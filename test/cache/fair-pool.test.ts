import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { runFairly, type FairTask } from '../../src/cache/fair-pool.ts';

/** Tasks that end when they are told to, by name. */
function stage(): { readonly started: string[]; readonly task: (group: string, name: string) => FairTask; readonly end: (name: string) => Promise<void> } {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    started,
    task: (group, name) => ({
      group,
      run: () => {
        started.push(name);
        return new Promise((resolve) => ends.set(name, resolve));
      },
    }),
    end: async (name) => {
      ends.get(name)?.();
      await turn();
    },
  };
}

describe('runFairly', () => {
  it('runs no more at a time than it may, in the order given', async () => {
    const { started, task, end } = stage();
    const done = runFairly(['a', 'b', 'c', 'd'].map((name) => task('g', name)), 2);
    await turn();
    assert.deepEqual(started, ['a', 'b']);
    await end('b');
    assert.deepEqual(started, ['a', 'b', 'c']);
    await end('a');
    await end('c');
    await end('d');
    await done;
  });

  it('leaves a group that does not move its share and no more, wherever it stands in the list', async () => {
    const { started, task, end } = stage();
    const names = (group: string, count: number): string[] => Array.from({ length: count }, (_, index) => `${group}${index}`);
    const done = runFairly([...names('slow', 20).map((name) => task('slow', name)), ...names('quick', 20).map((name) => task('quick', name))], 8);
    await turn();
    for (const name of names('quick', 20)) {
      assert.ok(started.includes(name), `${name} has its turn`);
      await end(name);
    }
    // What the others have left is then its own.
    assert.equal(started.filter((name) => name.startsWith('slow')).length, 8);
    for (const name of names('slow', 20)) await end(name);
    await done;
  });

  it('may run any number at a time, of few tasks too', async () => {
    const { started, task, end } = stage();
    const done = runFairly(['a', 'b'].map((name) => task('g', name)), Number.MAX_SAFE_INTEGER);
    await turn();
    assert.deepEqual(started, ['a', 'b']);
    await end('a');
    await end('b');
    await done;
  });

  it('starts nothing more when it is told to stop, and waits for what runs', async () => {
    const { started, task, end } = stage();
    let stop = false;
    const done = runFairly(['a', 'b'].map((name) => task('g', name)), 1, () => stop);
    await turn();
    stop = true;
    await end('a');
    await done;
    assert.deepEqual(started, ['a']);
  });

  it('is done at once with nothing to do', async () => {
    await runFairly([], 8);
  });
});
