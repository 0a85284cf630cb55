/**
 * The only file that loads undici, with the first request, and the place that chooses the way to an origin: directly, or through a proxy.
 */
import type * as Undici from 'undici';
import { connectorOf, createDial, type Connector } from './connect.ts';
import type { Way } from './way.ts';
import type { HttpSettings } from './settings.ts';
import { createTunnels } from './tunnel.ts';

/** How a URL is reached. */
export interface Route {
  readonly dispatcher: Undici.Dispatcher;
  /** Whose connections are used. */
  readonly origin: string;
  /** The request's target: a path, or the whole URL where a proxy forwards the request (RFC 9112, section 3.2.2). */
  readonly path: string;
  /** What has to be sent beside the request's own headers, to a proxy only. */
  readonly headers: Readonly<Record<string, string>>;
  readonly way: Way;
}

/** Gives each URL its way. */
export interface Dispatchers {
  /** The way to `url`. Loads undici when it is the first. Throws `ProxyFailure` where a proxy is named that cannot be used. */
  route(url: URL): Promise<Route>;
  /** Destroys all connections, busy ones too. */
  destroy(): Promise<void>;
}

/** The dispatchers of one client: one pool of connections for each origin and proxy, made with the first request. */
export function createDispatchers(settings: HttpSettings): Dispatchers {
  const closing = new AbortController();
  let made: Promise<Agents> | undefined;
  return {
    async route(url) {
      const proxy = settings.proxyFor(url);
      made ??= createAgents(settings, closing.signal);
      const { direct, tunneled } = await made;
      const path = `${url.pathname}${url.search}`;
      if (proxy === undefined || url.protocol === 'https:') {
        return { dispatcher: proxy === undefined ? direct : tunneled, origin: url.origin, path, headers: {}, way: { proxy, forwarded: false } };
      }
      // As Go does: many proxies take CONNECT for https only.
      const headers = { host: url.host, ...(proxy.authorization === undefined ? {} : { 'proxy-authorization': proxy.authorization }) };
      return { dispatcher: direct, origin: proxy.url.origin, path: `${url.origin}${path}`, headers, way: { proxy, forwarded: true } };
    },
    async destroy() {
      closing.abort(Object.assign(new Error('the client was closed'), { code: 'UND_ERR_DESTROYED' }));
      const agents = await made;
      await Promise.all([agents?.direct.destroy(), agents?.tunneled.destroy()]);
    },
  };
}

/** Two agents, since a proxy that is itself an https origin must be reached directly. */
interface Agents {
  readonly direct: Undici.Agent;
  readonly tunneled: Undici.Agent;
}

async function createAgents(settings: HttpSettings, closing: AbortSignal): Promise<Agents> {
  const { Agent, buildConnector, request } = await loadUndici();
  const dial = createDial(buildConnector, settings);
  const openTunnel = createTunnels(dial, settings, closing);
  const agentOf = (connect: Connector): Undici.Agent => {
    const agent = new Agent({ connect, connections: settings.connectionsPerHost, headersTimeout: settings.headersTimeoutMs, bodyTimeout: settings.idleTimeoutMs });
    // The front door gives every dispatcher all of undici's calls; here one is enough.
    agent.request = request;
    return agent;
  };
  const directly = connectorOf((options) => dial(options, closing));
  const throughProxy = connectorOf((options) => {
    const proxy = settings.proxyFor(new URL(`${options.protocol}//${options.host ?? options.hostname}`));
    return proxy === undefined ? dial(options, closing) : openTunnel(proxy, options);
  });
  return { direct: agentOf(directly), tunneled: agentOf(throughProxy) };
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
