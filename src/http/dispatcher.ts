/**
 * The only file that loads undici, and the place that chooses which dispatcher serves an origin.
 *
 * undici is loaded with the first request, and so that the application does not notice: see {@link loadUndici}.
 */
import { readFileSync } from 'node:fs';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type * as Undici from 'undici';
import type { HttpSettings } from './settings.ts';
import { holdEnd } from './socket-end.ts';

/** Gives each origin its dispatcher. */
export interface Dispatchers {
  /** The dispatcher for requests to `url`'s origin. Loads undici when it is the first. */
  forOrigin(url: URL): Promise<Undici.Dispatcher>;
  /** Destroys all connections, busy ones too. */
  destroy(): Promise<void>;
}

/** The dispatchers of one client: one pool of connections for each origin, made with the first request. */
export function createDispatchers(settings: HttpSettings): Dispatchers {
  let agent: Promise<Undici.Agent> | undefined;
  return {
    forOrigin() {
      agent ??= createAgent(settings);
      return agent;
    },
    async destroy() {
      await (await agent)?.destroy();
    },
  };
}

async function createAgent(settings: HttpSettings): Promise<Undici.Agent> {
  const { Agent, buildConnector } = await loadUndici();
  const connect = buildConnector({ allowH2: false, timeout: settings.connectTimeoutMs, ...trust(settings.certificates) });
  return new Agent({
    connect: (options, callback) => {
      connect(options, (...outcome) => {
        if (outcome[0] === null) holdEnd(outcome[1]);
        callback(...outcome);
      });
    },
    connections: settings.connectionsPerOrigin,
    headersTimeout: settings.headersTimeoutMs,
    bodyTimeout: settings.idleTimeoutMs,
  });
}

/**
 * Loads undici and leaves the application's `fetch` on the dispatcher that it has. On load undici puts a dispatcher of its
 * own under a global symbol that it shares with the undici inside Node, if nothing is there yet, and as a property that
 * cannot be deleted any more: the application's `fetch` would run on it from then on. A placeholder that is removed afterwards is no way out:
 * undici's own modules touch `globalThis.Headers`, upon which Node loads the undici inside it, finds the placeholder, installs nothing, and
 * every later `fetch` fails. So Node's own is loaded first, by touching the same lazy global, and undici finds Node's dispatcher in its place.
 */
async function loadUndici(): Promise<typeof Undici> {
  Reflect.get(globalThis, 'Headers');
  return import('undici');
}

/** Node's `ca` option replaces its own roots, and NODE_EXTRA_CA_CERTS with them; here certificates are added to both. */
function trust(certificates: readonly (string | Buffer)[]): { secureContext?: SecureContext } {
  if (certificates.length === 0) return {};
  return { secureContext: createSecureContext({ ca: [...rootCertificates, ...extraCertificates(), ...certificates] }) };
}

function extraCertificates(): readonly Buffer[] {
  const path = process.env['NODE_EXTRA_CA_CERTS'];
  if (path === undefined || path === '') return [];
  try {
    return [readFileSync(path)];
  } catch {
    return []; // Node warned about it when the process started, and goes on without it, too.
  }
}
