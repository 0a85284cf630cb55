/**
 * The only file that loads undici, and the place that chooses which dispatcher serves an origin.
 *
 * undici is loaded with the first request, and without a trace: on load it installs its own dispatcher under a
 * global symbol if nothing is there, as a property that cannot be deleted any more, and the application's `fetch`
 * would run on it from then on. It is CommonJS, so a `require` loads it within one turn of the event loop: a
 * placeholder stands under the symbol for just that turn, and nobody can meet it.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type * as Undici from 'undici';
import type { HttpSettings } from './settings.ts';

const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

/** Gives each origin its dispatcher. */
export interface Dispatchers {
  /** The dispatcher for requests to `url`'s origin. Loads undici when it is the first. */
  forOrigin(url: URL): Undici.Dispatcher;
  /** Destroys all connections, busy ones too. */
  destroy(): Promise<void>;
}

/** The dispatchers of one client: one pool of connections for each origin, made with the first request. */
export function createDispatchers(settings: HttpSettings): Dispatchers {
  let agent: Undici.Agent | undefined;
  return {
    forOrigin() {
      agent ??= new (loadUndici().Agent)({
        allowH2: false,
        connect: { timeout: settings.connectTimeoutMs, ...trust(settings.certificates) },
        connections: settings.connectionsPerOrigin,
        headersTimeout: settings.headersTimeoutMs,
        bodyTimeout: settings.idleTimeoutMs,
      });
      return agent;
    },
    async destroy() {
      await agent?.destroy();
    },
  };
}

/** Loads undici and leaves the application's global dispatcher as it was, set or not. */
export function loadUndici(): typeof Undici {
  const require = createRequire(import.meta.url);
  const free = Reflect.get(globalThis, GLOBAL_DISPATCHER) === undefined;
  if (free) Object.defineProperty(globalThis, GLOBAL_DISPATCHER, { value: {}, configurable: true, writable: true });
  try {
    return require('undici') as typeof Undici;
  } finally {
    if (free) Reflect.deleteProperty(globalThis, GLOBAL_DISPATCHER);
  }
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
