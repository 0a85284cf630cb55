/**
 * The only file that loads undici, with the first request, and the place that chooses which dispatcher serves an origin.
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
  const { Agent, buildConnector, request } = await loadUndici();
  const connect = buildConnector({ allowH2: false, timeout: settings.connectTimeoutMs, ...trust(settings.certificates) });
  const agent = new Agent({
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
  // The front door gives every dispatcher all of undici's calls; here one is enough.
  agent.request = request;
  return agent;
}

/** What is used of undici. */
interface UndiciParts {
  readonly Agent: typeof Undici.Agent;
  readonly buildConnector: typeof Undici.buildConnector;
  readonly request: Undici.Dispatcher['request'];
}

/**
 * Loads the parts of undici that are used here, and not its front door. That one puts a dispatcher of its own under a global
 * symbol which it shares with the undici inside Node, as a property that cannot be deleted any more: the application's
 * `fetch` would run on it from then on. It also loads much that nobody asks for: 91 ms against 36 (measured). The parts are
 * no documented interface, which is why the version of undici is pinned.
 */
async function loadUndici(): Promise<UndiciParts> {
  const [agent, connect, request] = await Promise.all([
    import('undici/lib/dispatcher/agent.js'),
    import('undici/lib/core/connect.js'),
    import('undici/lib/api/api-request.js'),
  ]);
  return { Agent: agent.default, buildConnector: connect.default, request: request.default };
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
