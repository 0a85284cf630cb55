/** What `import 'rwx-cache'` costs, in fresh processes, and which packages it loads. */
import { loadedBy, packagesOf } from '../test/support/loaded-modules.ts';
import { duration, interleave, median, type Subject } from './harness.ts';
import { runProgram } from './processes.ts';

const LIMIT_MS = 60;
const LATE = ['undici', 'openpgp', 'tar', 'proper-lockfile'];

async function importTime(specifier: string): Promise<number> {
  return Number((await runProgram('import', { specifier })).answer);
}

export const importing: Subject = {
  name: 'importing',
  run: async (scope) => {
    scope.say('in fresh processes');
    const times = await interleave(scope.rounds(20), {
      ours: () => importTime('rwx-cache'),
      lock: () => importTime('rwx-cache/lock'),
      undici: () => importTime('undici'),
    });
    const loaded = loadedBy('rwx-cache');
    const packages = packagesOf(loaded.urls);
    const early = LATE.filter((name) => packages.includes(name));
    return [
      {
        name: `import 'rwx-cache'`,
        ours: duration(median(times.ours)),
        other: `import 'undici': ${duration(median(times.undici))}`,
        ratio: '',
        target: `< ${LIMIT_MS} ms`,
        holds: median(times.ours) < LIMIT_MS,
      },
      { name: `import 'rwx-cache/lock'`, ours: duration(median(times.lock)), other: '', ratio: '', target: '', holds: undefined },
      {
        name: `packages that import 'rwx-cache' loads`,
        ours: packages.join(', ') || 'none',
        other: '',
        ratio: '',
        target: `not ${LATE.join(', ')}`,
        holds: early.length === 0,
      },
    ];
  },
};
