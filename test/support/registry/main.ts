/**
 * The embedded registry as a program of its own, for tests of many processes and for benchmarks: its options come as
 * JSON in the first argument (so without callbacks and signers), its origin goes to standard output as one line of JSON,
 * and it serves until standard input ends: it never outlives whoever started it.
 */
import { startRegistry, type RegistryOptions } from './registry.ts';

const registry = await startRegistry(JSON.parse(process.argv[2] ?? '{}') as RegistryOptions);
process.stdout.write(`${JSON.stringify({ origin: registry.origin, host: registry.host })}\n`);
process.stdin.resume();
process.stdin.once('end', () => {
  registry.close().catch(() => process.exit(1));
});
