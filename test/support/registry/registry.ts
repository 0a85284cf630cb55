/**
 * An embedded provider registry: a real HTTP server on loopback that speaks service discovery and the provider registry
 * protocol v1, signs its checksums with a real OpenPGP key, writes down every request, and fails on demand.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Certificate } from '../certificate.ts';
import { jsonAnswer, send, sendFaulty, validated, type Answer } from './answer.ts';
import { createFaults, type Fault, type Faults, type Route } from './faults.ts';
import { buildRelease, lazySigner, type BuiltRelease, type ProviderRelease } from './releases.ts';
import type { Signer } from './signer.ts';

/** Options of the embedded registry. */
export interface RegistryOptions {
  readonly providers?: readonly ProviderRelease[] | undefined;
  /** Signs every release that has no signer of its own. Default: a key that is made when it is first needed. */
  readonly signer?: Signer | undefined;
  readonly faults?: readonly Fault[] | undefined;
  /** Without `Authorization: Bearer <token>` the registry's JSON is refused (401). Zips, checksums and signatures are open. */
  readonly token?: string | undefined;
  /** Serves https with this key and certificate. */
  readonly tls?: Certificate | undefined;
  /** The discovery document instead of the right one. */
  readonly services?: Readonly<Record<string, unknown>> | undefined;
  /** A query that all URLs in the metadata carry, for example `'?signature=…'`: presigned URLs keep secrets there. */
  readonly query?: string | undefined;
  /** Its JSON has validators of this kind, and is not sent to who has it already. */
  readonly validators?: 'etag' | 'date' | undefined;
  /** What the lists of versions tell people. */
  readonly warnings?: readonly string[] | undefined;
}

/** One request as it came, and the status that it got (0: none yet, or no answer at all). */
export interface LoggedRequest {
  readonly route: Route | 'unknown';
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly status: number;
  /** Bytes that were handed to the connection for it, headers included; 0 while it is under way. */
  readonly sentBytes: number;
}

/** A running registry. */
export interface EmbeddedRegistry {
  /** For example `http://127.0.0.1:40123`. */
  readonly origin: string;
  /** `127.0.0.1:40123`: the host to discover, where it serves https. */
  readonly host: string;
  /** The `hosts` option that leads a host name here without discovery. */
  hosts(hostname?: string): Record<string, Record<string, string>>;
  /** Every request so far, in order. */
  readonly requestLog: readonly LoggedRequest[];
  /** How many requests there were of a kind, or with a path that matches. */
  count(which: Route | RegExp): number;
  /** How many connections have been made so far. */
  readonly connections: number;
  /** The faults in force; those of the options come first. */
  readonly faults: Faults;
  /** The releases as they are served. */
  readonly releases: readonly BuiltRelease[];
  /** Adds a release while the registry runs. */
  publish(release: ProviderRelease): Promise<BuiltRelease>;
  /** Stops at once, with all connections. Idempotent. */
  close(): Promise<void>;
}

const VALIDATED: readonly string[] = ['discovery', 'versions', 'metadata'];
const SERVICES = { 'providers.v1': '/v1/providers/' };

/** Starts a registry on a free port of 127.0.0.1. */
export async function startRegistry(options: RegistryOptions = {}): Promise<EmbeddedRegistry> {
  const releases: BuiltRelease[] = [];
  const log: (LoggedRequest & { status: number; sentBytes: number })[] = [];
  const faults = createFaults(options.faults);
  const given = options.signer;
  const signer = given === undefined ? lazySigner() : (): Promise<Signer> => Promise.resolve(given);
  const publish = async (release: ProviderRelease): Promise<BuiltRelease> => {
    const built = await buildRelease(release, signer);
    releases.push(built);
    return built;
  };
  for (const release of options.providers ?? []) await publish(release);

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '/';
    if (path.startsWith('/__')) {
      await send(response, await control(request, path, log, faults));
      return;
    }
    const found = answerTo(path.split('?', 1)[0] ?? path, request.headers, releases, options);
    const { route } = found;
    const answer = options.validators === undefined || !VALIDATED.includes(route) ? found.answer : validated(found.answer, options.validators);
    const entry = { route, method: request.method ?? '', path, headers: request.headers, status: 0, sentBytes: 0 };
    log.push(entry);
    const fault = route === 'unknown' ? undefined : faults.take(route, path);
    response.once('finish', () => {
      entry.status = response.statusCode;
    });
    const { socket } = request;
    const before = socket.bytesWritten;
    response.once('close', () => {
      entry.sentBytes = socket.bytesWritten - before;
    });
    if (fault === undefined) await send(response, answer, request.headers);
    else await sendFaulty(response, answer, fault, request.headers);
  };
  const listener: RequestListener = (request, response) => {
    // A client that goes away in the middle is ordinary here; anything else shows as a missing answer.
    response.on('error', () => undefined);
    serve(request, response).catch(() => response.destroy());
  };
  const server: Server = options.tls === undefined ? createServer(listener) : createTlsServer({ key: options.tls.key, cert: options.tls.certificate }, listener);
  // Node closes idle connections after 5 s, and would race with a client that takes one up again.
  server.keepAliveTimeout = 30_000;
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const origin = `${options.tls === undefined ? 'http' : 'https'}://${host}`;

  return {
    origin,
    host,
    hosts: (hostname = 'registry.opentofu.org') => ({ [hostname]: { 'providers.v1': `${origin}/v1/providers/` } }),
    requestLog: log,
    count: (which) => log.filter(({ route, path }) => (typeof which === 'string' ? route === which : which.test(path))).length,
    get connections() {
      return connections;
    },
    faults,
    releases,
    publish,
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** For programs beside the one that runs the registry: `GET /__log`, and `POST /__faults` with a JSON list (`[]` heals). */
async function control(request: IncomingMessage, path: string, log: readonly LoggedRequest[], faults: Faults): Promise<Answer> {
  if (path === '/__log') return jsonAnswer(log);
  if (path !== '/__faults' || request.method !== 'POST') return jsonAnswer({ errors: ['no such control'] }, 404);
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  faults.heal();
  for (const fault of JSON.parse(text) as Fault[]) faults.inject(fault);
  return jsonAnswer({});
}

function answerTo(path: string, headers: IncomingHttpHeaders, releases: readonly BuiltRelease[], options: RegistryOptions): { readonly route: Route | 'unknown'; readonly answer: Answer } {
  const notFound = jsonAnswer({ errors: ['Not Found'] }, 404);
  const allowed = options.token === undefined || headers.authorization === `Bearer ${options.token}`;
  const guarded = (answer: Answer): Answer => (allowed ? answer : jsonAnswer({ errors: ['Unauthorized'] }, 401));
  if (path === '/.well-known/terraform.json') return { route: 'discovery', answer: jsonAnswer(options.services ?? SERVICES) };

  const [, address, rest] = /^\/v1\/providers\/([^/]+\/[^/]+)\/(.+)$/u.exec(path) ?? [];
  const own = releases.filter(({ release }) => release.address === address);
  if (rest === 'versions') return { route: 'versions', answer: guarded(own.length === 0 ? notFound : versionsAnswer(own, options.warnings)) };

  const [, version, os, arch] = /^([^/]+)\/download\/([^/]+)\/([^/]+)$/u.exec(rest ?? '') ?? [];
  if (version !== undefined && os !== undefined && arch !== undefined) {
    const built = own.find(({ release }) => release.version === version);
    return { route: 'metadata', answer: guarded(built === undefined ? notFound : metadataAnswer(built, os, arch, options.query ?? '', notFound)) };
  }

  const [, releaseOf, releaseVersion, file] = /^\/releases\/([^/]+\/[^/]+)\/([^/]+)\/([^/]+)$/u.exec(path) ?? [];
  const built = releases.find(({ release }) => release.address === releaseOf && release.version === releaseVersion);
  if (built === undefined) return { route: 'unknown', answer: notFound };
  if (file === 'SHA256SUMS') return { route: 'sums', answer: bytesAnswer(built.sums, 'text/plain') };
  if (file === 'SHA256SUMS.sig') return { route: 'signature', answer: built.signature === undefined ? notFound : bytesAnswer(built.signature, 'application/octet-stream') };
  const zip = built.packages.get(file?.replace(/\.zip$/u, '') ?? '');
  if (zip === undefined) return { route: 'unknown', answer: notFound };
  const source = zip.source instanceof Uint8Array ? zip.source : { path: zip.source.path, size: zip.size };
  return { route: 'zip', answer: { status: 200, contentType: 'application/zip', source, etag: `"${zip.sha256}"` } };
}

function bytesAnswer(source: Uint8Array, contentType: string): Answer {
  return { status: 200, contentType, source };
}

function versionsAnswer(releases: readonly BuiltRelease[], warnings: readonly string[] | undefined): Answer {
  const versions = releases.map(({ release, packages }) => ({
    version: release.version,
    protocols: release.protocols ?? ['5.0', '6.0'],
    platforms: [...packages.keys()].map((platform) => ({ os: platform.split('_')[0], arch: platform.split('_')[1] })),
  }));
  return jsonAnswer({ versions, warnings: warnings ?? null });
}

function metadataAnswer(built: BuiltRelease, os: string, arch: string, query: string, notFound: Answer): Answer {
  const one = built.packages.get(`${os}_${arch}`);
  if (one === undefined) return notFound;
  const base = `/releases/${built.release.address}/${built.release.version}`;
  const packages = Object.fromEntries([...built.packages].map(([platform, { sha256, size }]) => [platform, { hashes: [`zh:${sha256}`], package_size: size }]));
  return jsonAnswer({
    protocols: built.release.protocols ?? ['5.0', '6.0'],
    os,
    arch,
    filename: one.filename,
    download_url: `${base}/${os}_${arch}.zip${query}`,
    shasum: one.sha256,
    shasums_url: `${base}/SHA256SUMS${query}`,
    shasums_signature_url: built.signature === undefined ? '' : `${base}/SHA256SUMS.sig${query}`,
    signing_keys: { gpg_public_keys: built.keys.map(({ keyId, publicKey }) => ({ key_id: keyId, ascii_armor: publicKey, trust_signature: '', source: '', source_url: null })) },
    ...(built.release.packages === true ? { packages } : {}),
  });
}
