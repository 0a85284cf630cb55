/** Tells an operator, once a process and mount, that a cache lies on a mount whose options take guarantees away. Reads the mount table; decides nothing. */
import { publishEvent } from '../diagnostics.ts';
import { lockReach, mountOf, type Mount } from '../lock/mount-options.ts';

/** What {@link process.emitWarning} calls it; for who filters or counts warnings. */
const WARNING = { type: 'RwxCacheWarning', code: 'RWX_CACHE_MOUNT' } as const;

/** The mounts that were spoken of, with what was said. */
const told = new Set<string>();

/**
 * Looks at the mounts on which these paths lie. Each that has a weakening option is told of as an event (`cache:mount-warning`) and as a
 * warning of the process, which Node prints for who listens to neither. Never rejects; where nothing is known of a mount, nothing is said.
 */
export async function adviseOnMounts(...paths: readonly string[]): Promise<void> {
  for (const mount of await Promise.all(paths.map((path) => mountOf(path)))) if (mount !== undefined) adviseOnMount(mount);
}

/** @internal */
export function adviseOnMount(mount: Mount): void {
  const { warnings } = lockReach(mount);
  if (warnings.length === 0) return;
  const { mountPoint, type } = mount;
  // Mounted anew with other options, it is another one.
  const said = JSON.stringify([mountPoint, type, warnings]);
  if (told.has(said)) return;
  told.add(said);
  publishEvent('cache:mount-warning', { mountPoint, type, warnings });
  const list = warnings.map(({ option, message }) => `  ${option}: ${message}`).join('\n');
  process.emitWarning(`the cache lies on ${mountPoint} (${type}), whose mount options weaken it`, { ...WARNING, detail: list });
}
