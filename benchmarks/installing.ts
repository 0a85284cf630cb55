/**
 * Installations as whole processes, from spawn to exit, each into a cold cache: ours, `terraform init` of the same package from the same registry,
 * and a program that does by hand, one step after the other, what an installation cannot do without.
 */
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { startRegistryProcess, type RegistryProcess } from '../test/support/registry/index.ts';
import { findClient, init, makeWorkingDirectory, type Client } from '../test/support/terraform.ts';
import { comparison, interleave, median, skipped, type Row, type Scope, type Subject } from './harness.ts';
import { runProgram } from './processes.ts';
import { machineCode, VERSION, writeRelease } from './provider.ts';

const HOST = 'registry.example.com';
const LARGE_COPIES = 9;
const LIMIT_MB = 200;

/** One installation: how long it took, and what memory it needed at most (ours only). */
interface Measured {
  readonly milliseconds: number;
  readonly peakMb: number;
}

class Installations {
  readonly #registry: RegistryProcess;
  readonly #directory: string;
  #count = 0;

  constructor(registry: RegistryProcess, directory: string) {
    this.#registry = registry;
    this.#directory = directory;
  }

  async ours(types: readonly string[]): Promise<Measured> {
    return this.#into(async (directory) => {
      const { milliseconds, answer } = await runProgram('ensure', {
        cache: { directory, hosts: this.#registry.hosts(HOST), environment: {} },
        requests: types.map((type) => ({ source: `${HOST}/acme/${type}`, version: VERSION, platform: 'linux_amd64' })),
      });
      return { milliseconds, peakMb: Number(answer) };
    });
  }

  async byHand(type: string): Promise<number> {
    return this.#into(async (directory) => {
      const url = `${this.#registry.origin}/releases/acme/${type}/${VERSION}/linux_amd64.zip`;
      return (await runProgram('by-hand', { url, directory })).milliseconds;
    });
  }

  async init(client: Client, types: readonly string[]): Promise<number> {
    return this.#into(async (directory) => {
      await makeWorkingDirectory(directory, types.map((type) => ({ source: `${HOST}/acme/${type}`, version: VERSION })));
      const begun = performance.now();
      const { code, output } = await init(client, directory, { configuration: { hosts: this.#registry.hosts(HOST) } });
      if (code !== 0) throw new Error(`${client.name} init failed: ${output}`);
      return performance.now() - begun;
    });
  }

  /** Into an empty directory, which is removed before the next one is measured: its pages are not written back meanwhile. */
  async #into<T>(use: (directory: string) => Promise<T>): Promise<T> {
    this.#count += 1;
    const directory = join(this.#directory, String(this.#count));
    await mkdir(directory);
    try {
      return await use(directory);
    } finally {
      await rm(directory, { recursive: true, maxRetries: 3 });
    }
  }
}

async function one(scope: Scope, run: Installations, client: Client | undefined, size: string): Promise<Row[]> {
  scope.say(`one package of ${size}`);
  const peaks: number[] = [];
  const times = await interleave(scope.rounds(15), {
    ours: async () => {
      const { milliseconds, peakMb } = await run.ours(['p0']);
      peaks.push(peakMb);
      return milliseconds;
    },
    hand: () => run.byHand('p0'),
    init: async () => (client === undefined ? NaN : run.init(client, ['p0'])),
  });
  const name = `ensure of one package, ${size}, whole process`;
  return [
    client === undefined ? skipped(name, 'no terraform on the PATH') : comparison(name, times.ours, `${client.name} ${client.version} init`, times.init, 0.75),
    comparison(name, times.ours, 'by hand, one step after the other, unverified and unsynced', times.hand, 1),
    memory(`its memory at most`, peaks),
  ];
}

async function several(scope: Scope, run: Installations, client: Client | undefined, types: readonly string[]): Promise<Row[]> {
  scope.say(`${types.length} packages at once`);
  const peaks: number[] = [];
  const times = await interleave(scope.rounds(9), {
    ours: async () => {
      const { milliseconds, peakMb } = await run.ours(types);
      peaks.push(peakMb);
      return milliseconds;
    },
    init: async () => (client === undefined ? NaN : run.init(client, types)),
  });
  const name = `ensure of ${types.length} such packages at once, whole process`;
  return [
    client === undefined ? skipped(name, 'no terraform on the PATH') : comparison(name, times.ours, `${client.name} ${client.version} init`, times.init, 0.6),
    memory('its memory at most', peaks, false),
  ];
}

function memory(name: string, peaks: readonly number[], limited = true): Row {
  const peak = Math.max(...peaks);
  return {
    name,
    ours: `${Math.round(median(peaks))} MB, worst of ${peaks.length}: ${Math.round(peak)} MB`,
    other: '',
    ratio: '',
    target: limited ? `< ${LIMIT_MB} MB` : '',
    holds: limited ? peak < LIMIT_MB : undefined,
  };
}

export const installing: Subject = {
  name: 'installing',
  run: async (scope) => {
    scope.say('making the packages');
    const code = await machineCode();
    const types = ['p0', 'p1', 'p2', 'p3', 'p4'];
    const providers = [];
    for (const type of types) providers.push(await writeRelease(scope.directory, type, code));
    providers.push(await writeRelease(scope.directory, 'large', code, LARGE_COPIES));
    const zipBytes = (await stat(join(scope.directory, 'p0.zip'))).size;
    const size = `${Math.round(code.bytes / 1e6)} MB in a zip of ${Math.round(zipBytes / 1e6)} MB`;
    const client = findClient('terraform', 'tofu');
    const registry = await startRegistryProcess({ providers });
    try {
      const run = new Installations(registry, scope.directory);
      const rows = [...(await one(scope, run, client, size)), ...(await several(scope, run, client, types))];
      scope.say(`one package of ${Math.round((LARGE_COPIES * code.bytes) / 1e6)} MB`);
      const peaks: number[] = [];
      for (let round = 0; round < scope.rounds(5); round += 1) peaks.push((await run.ours(['large'])).peakMb);
      return [...rows, memory(`ensure of one package, ${Math.round((LARGE_COPIES * code.bytes) / 1e6)} MB: its memory at most`, peaks)];
    } finally {
      await registry.close();
    }
  },
};
