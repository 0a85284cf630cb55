/** A network mirror on 127.0.0.1, whose documents and zips a test may replace one by one. */
import { createHash } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { Certificate } from './certificate.ts';
import { startServer, type Route, type TestServer } from './http-server.ts';

/** A package of the mirror. */
export interface MirroredZip {
  /** `host/namespace/type`, as in the path. */
  readonly address: string;
  readonly version: string;
  readonly platform: string;
  readonly zip: Uint8Array;
  /** Default: the zip's own `zh:`. */
  readonly hashes?: readonly string[] | undefined;
}

/** A mirror that runs until its test ends. */
export interface TestMirror extends TestServer {
  /** Its base URL. */
  readonly url: string;
  /** What is served, by path; a test may change it at any time. */
  readonly routes: Record<string, Route>;
  /** Where the documents of a provider are: `/m/host/namespace/type/<name>`. */
  path(address: string, name: string): string;
}

/** `zh:` of a zip. */
export function zhOf(zip: Uint8Array): string {
  return `zh:${createHash('sha256').update(zip).digest('hex')}`;
}

/** Makes a JSON answer of the mirror's. */
export function json(document: unknown): Route {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(document) };
}

/** Starts a mirror of these packages below `/m/`. */
export async function startMirror(t: TestContext, packages: readonly MirroredZip[], certificate?: Certificate): Promise<TestMirror> {
  const routes: Record<string, Route> = {};
  const path = (address: string, name: string): string => `/m/${address}/${name}`;
  const versions = new Map<string, Record<string, Record<string, unknown>>>();
  for (const { address, version, platform, zip, hashes } of packages) {
    const file = `${version}_${platform}.zip`;
    const all = versions.get(address) ?? {};
    all[version] = { ...all[version], [platform]: { url: file, hashes: hashes ?? [zhOf(zip)] } };
    versions.set(address, all);
    routes[path(address, file)] = { headers: { 'content-type': 'application/zip' }, body: zip };
  }
  for (const [address, all] of versions) {
    routes[path(address, 'index.json')] = json({ versions: Object.fromEntries(Object.keys(all).map((version) => [version, {}])) });
    for (const [version, archives] of Object.entries(all)) routes[path(address, `${version}.json`)] = json({ archives });
  }
  const server = await startServer(t, routes, certificate);
  return { ...server, url: `${server.origin}/m/`, routes, path };
}
