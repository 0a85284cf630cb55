/** The demo's command line, read and refused. Pure. */
import { parseArgs } from 'node:util';
import { currentPlatform } from '../../src/layout/index.ts';
import { HOST } from '../cache/support.ts';

/** What the demo is to do. */
export interface DemoArguments {
  readonly help: boolean;
  /** The host of a real registry; `undefined`: the embedded one. */
  readonly registry: string | undefined;
  /** With its host. */
  readonly source: string;
  readonly version: string;
  /** Where the cache is and stays; `undefined`: a temporary one. */
  readonly directory: string | undefined;
}

/** The command line makes no sense; the message says why. */
export class UsageError extends Error {}

/** What `--help` prints. */
export const USAGE: string = `Eight processes ask for one provider package at once, through one cache directory.

  npm run demo                                    from an embedded registry that signs what it serves
  npm run demo -- --registry HOST [SOURCE [VERSION]]
                                                  from a real one, for example
                                                  --registry registry.opentofu.org hashicorp/null 3.2.4
  --directory DIR    keeps the cache there; without it, it is temporary
  --help             prints this

Exits 0 when all was as it should be, 1 when something was not, 2 for a command line that makes no sense.
The package is that of this machine (${String(currentPlatform())}).`;

/**
 * Reads the command line.
 *
 * @throws UsageError
 */
export function parseDemoArguments(args: readonly string[]): DemoArguments {
  const { values, positionals } = parse(args);
  const { help = false, registry, directory } = values;
  if (registry === undefined && positionals.length > 0) throw new UsageError(`${String(positionals[0])}: the embedded registry has one package of its own; name another registry with --registry`);
  if (positionals.length > 2) throw new UsageError(`${String(positionals[2])}: there is a source, a version, and nothing behind them`);
  if (registry === '') throw new UsageError('--registry is the host of a registry');
  if (directory === '') throw new UsageError('--directory is the path of a directory');
  if (registry === undefined) return { help, registry, directory, source: `${HOST}/acme/thing`, version: '1.2.3' };
  const [source = 'hashicorp/null', version = '3.2.4'] = positionals;
  if (!/^[^/]+\/[^/]+$/u.test(source)) throw new UsageError(`${source}: a source is namespace/type; its host is what --registry says`);
  return { help, registry, directory, source: `${registry}/${source}`, version };
}

function parse(args: readonly string[]): { readonly values: { help?: boolean; registry?: string; directory?: string }; readonly positionals: readonly string[] } {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h' }, registry: { type: 'string' }, directory: { type: 'string' } },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
