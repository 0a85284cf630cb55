/** What is published: every content follows from its name, its writer and its generation, so that a part of it, or of two of them, shows. Pure. */
import { createHash } from 'node:crypto';
import { packageHashFromFiles } from '../../src/verify/index.ts';

/** Whose content something is. */
export interface Origin {
  /** The number of the writer. */
  readonly by: number;
  /** Counts up, for each writer and kind of thing. */
  readonly generation: number;
}

/** The registry host of the packages. */
export const HOST = 'registry.example.com';
export const PLATFORM = 'linux_amd64';
/** The files of each published directory. */
export const DIRECTORY_FILES: readonly string[] = ['one', 'sub/two'];

/** Some kilobytes; the first line says whose they are, and the rest follows from it. */
export function contentOf(name: string, { by, generation }: Origin): Buffer {
  const head = `${name} ${by} ${generation}\n`;
  const outputLength = 1000 + ((generation * 7919 + by * 104_729) % 30_000);
  return Buffer.concat([Buffer.from(head), createHash('shake256', { outputLength }).update(head).digest()]);
}

/** Whose content this is; `undefined` when it is not the whole of it, and nothing else. */
export function originOf(name: string, bytes: Uint8Array): Origin | undefined {
  const head = /^(\S+) (\d+) (\d+)\n/u.exec(Buffer.from(bytes.subarray(0, 300)).toString('latin1'));
  if (head?.[1] !== name) return undefined;
  const origin = { by: Number(head[2]), generation: Number(head[3]) };
  return contentOf(name, origin).equals(bytes) ? origin : undefined;
}

/** The files of a package, and the hash that they have together. */
export function packageOf(type: string, version: string): { readonly files: Record<string, Buffer>; readonly h1: string } {
  const generation = Number(version.slice(version.lastIndexOf('.') + 1));
  const names = ['LICENSE', `terraform-provider-${type}_v${version}`, 'data/more'];
  const files = Object.fromEntries(names.map((name, index) => [name, contentOf(`${type}/${version}/${name}`, { by: index, generation })]));
  const hashed = Object.entries(files).map(([name, bytes]) => ({ name, sha256: createHash('sha256').update(bytes).digest('hex') }));
  return { files, h1: packageHashFromFiles(hashed) };
}
