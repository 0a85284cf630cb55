/** The embedded registry of the demo and the provider that it serves: a real zip of real machine code, really signed. */
import { open } from 'node:fs/promises';
import { currentPlatform } from '../../src/layout/index.ts';
import { startRegistry, type EmbeddedRegistry } from '../support/registry/index.ts';

/** As large as a small provider's binary. */
const BYTES = 16 << 20;

/** Starts the registry with one release for this machine. */
export async function startDemoRegistry(version: string): Promise<EmbeddedRegistry> {
  return startRegistry({
    providers: [
      {
        address: 'acme/thing',
        version,
        platforms: [String(currentPlatform())],
        files: {
          LICENSE: 'For the demo only.\n',
          [`terraform-provider-thing_v${version}_x5`]: { data: await machineCode(), mode: 0o100755 },
        },
      },
    ],
  });
}

/** The first part of the program that runs this: it compresses as providers do. */
async function machineCode(): Promise<Buffer> {
  const program = await open(process.execPath, 'r');
  try {
    const { buffer, bytesRead } = await program.read(Buffer.alloc(BYTES), 0, BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await program.close();
  }
}
