/**
 * Runs tasks at most so many at a time, in fair shares between their groups: a free place goes to the group with the fewest
 * running, so that one slow group (a registry that does not answer) fills only its share while others have work. Knows nothing of packages.
 */

/** One task. It must not reject: whoever makes it keeps what became of it. */
export interface FairTask {
  /** Tasks of one group share a place in the queue. */
  readonly group: string;
  run(): Promise<void>;
}

/** Resolves when all tasks have ended, or, after `stop` has said so, when those have that were running. Within a group they start in the order given. */
export async function runFairly(tasks: Iterable<FairTask>, concurrency: number, stop: () => boolean = () => false): Promise<void> {
  const groups = new Map<string, { readonly waiting: FairTask[]; running: number }>();
  let count = 0;
  for (const task of tasks) {
    count += 1;
    const group = groups.get(task.group) ?? { waiting: [], running: 0 };
    group.waiting.push(task);
    groups.set(task.group, group);
  }
  const turn = async (): Promise<void> => {
    for (;;) {
      const [group] = [...groups.values()].filter(({ waiting }) => waiting.length > 0).sort((a, b) => a.running - b.running);
      const task = stop() ? undefined : group?.waiting.shift();
      if (group === undefined || task === undefined) return;
      group.running += 1;
      try {
        await task.run();
      } finally {
        group.running -= 1;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, turn));
}
