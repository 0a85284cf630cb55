/** The sources of one cache: which mirrors it trusts, and which of them it is itself. Loads nothing of the network. */
import { stat } from 'node:fs/promises';
import { logger, publishEvent } from '../diagnostics.ts';
import { sourceName } from '../errors/sources.ts';
import type { ProviderAddress } from '../layout/index.ts';
import { checkSources, DIRECT_ONLY, isLocal, type CheckedSource } from '../registry/sources/checked.ts';
import type { ProviderCacheOptions } from './options.ts';

const log = logger('cache');

/** What a cache knows of its sources without asking one. */
export interface CacheSources {
  readonly checked: readonly CheckedSource[];
  /** The names of the mirrors that a provider may come from. */
  trustedMirrors(address: ProviderAddress): ReadonlySet<string>;
  /** Whether a provider may come from somewhere that takes no network. */
  hasLocal(address: ProviderAddress): boolean;
}

/**
 * Reads the options.
 * @throws InvalidOptionError, AccessPolicyError
 */
export function cacheSources({ sources, cliConfig, insecureMirrors }: ProviderCacheOptions, defaultHost: string): CacheSources {
  const checked = checkSources(sources ?? cliConfig?.sources ?? DIRECT_ONLY, { defaultHost, insecureMirrors });
  const mirrors = checked.filter(({ given }) => given.type !== 'direct');
  return {
    checked,
    trustedMirrors: (address) => new Set(mirrors.filter((source) => source.matches(address)).map(({ description }) => sourceName(description))),
    hasLocal: (address) => mirrors.some((source) => isLocal(source) && source.matches(address)),
  };
}

/**
 * The sources without those that are the cache's own tree, by whatever path: an entry there that nothing proves would otherwise be
 * proved by itself. Costs nothing where there is no filesystem mirror.
 */
export async function withoutOwnTree(checked: readonly CheckedSource[], providers: string): Promise<CheckedSource[]> {
  const kept: CheckedSource[] = [];
  for (const source of checked) {
    if (isLocal(source) && (await isSameDirectory(source.description.location ?? '', providers))) {
      log('%s is this cache itself, and is passed over', sourceName(source.description));
      publishEvent('cache:source-is-itself', { path: source.description.location });
    } else kept.push(source);
  }
  return kept;
}

async function isSameDirectory(a: string, b: string): Promise<boolean> {
  try {
    const [one, other] = await Promise.all([stat(a, { bigint: true }), stat(b, { bigint: true })]);
    return one.ino === other.ino && one.dev === other.dev;
  } catch {
    // One that is not there is nobody's tree; whoever asks it says so.
    return false;
  }
}
