/** Takes a lock and holds it until it is killed, or whoever started it is gone. */
import { acquireLock } from '../../src/lock/index.ts';

const { path } = JSON.parse(process.argv[2] ?? '') as { path: string };
await acquireLock(path);
process.once('disconnect', () => process.exit());
process.send?.('held');
