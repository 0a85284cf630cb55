/**
 * `npm run test:power-loss`: publishes in a machine whose power is cut, and looks at what is there afterwards. The machine's disk is an ext4
 * image, the machine is user-mode Linux; no root is needed for either.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ENDING_SIGNALS } from '../support/machine/machine.ts';
import { missingPackages } from '../support/machine/packages.ts';

async function main(): Promise<number> {
  const missing = missingPackages({ 'mkfs.ext4': 'e2fsprogs' });
  if (missing.length > 0) {
    console.log(`skipped: the power-loss test needs ${missing.join(', ')} (apt-get install user-mode-linux e2fsprogs iproute2 kmod mount)`);
    return 0;
  }
  const test = spawn(process.execPath, ['--test-reporter=spec', join(import.meta.dirname, 'power-loss.cut.js')], { stdio: 'inherit' });
  for (const signal of ENDING_SIGNALS) process.once(signal, () => test.kill(signal));
  const [code] = (await once(test, 'exit')) as [number | null];
  return code ?? 1;
}

process.exitCode = await main();
