/**
 * Connections through a proxy by CONNECT (RFC 9110, section 9.3.6). undici's own `ProxyAgent` is not used: it queues all tunnels behind one
 * limit of its own, sends no credentials without a password, wraps refusals into errors that name no status, and hands its sockets over
 * without the guard of `socket-end.ts`. As a connector each origin keeps its pool, its limits and its time-outs.
 */
import { request } from 'node:http';
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { abortReason, onAbort, raceAbort } from '../abort.ts';
import { RwxCacheError } from '../errors.ts';
import type { Dial } from './connect.ts';
import { isTlsFailure, problemOf } from './failures.ts';
import type { Proxy } from './way.ts';
import { ProxyFailure, refusedByProxy } from './proxy-failure.ts';
import type { HttpSettings } from './settings.ts';

/** Opens a connection through `proxy` to the origin of `target`, TLS included. Rejects with {@link ProxyFailure}, or with the error of TLS to the target. */
export type OpenTunnel = (proxy: Proxy, target: buildConnector.Options) => Promise<Socket>;

/** Makes it. `timeoutMs` is for the whole way; when `closing` aborts, what is not open yet is given up. */
export function createTunnels(dial: Dial, { connectTimeoutMs, userAgent }: HttpSettings, closing: AbortSignal): OpenTunnel {
  return async (proxy, target) => {
    const stop = new AbortController();
    const late = new ProxyFailure({ problem: 'there was no connection through it within connectTimeoutMs', retry: true });
    const timer = setTimeout(() => { stop.abort(late); }, connectTimeoutMs);
    const unfollow = onAbort(closing, () => { stop.abort(abortReason(closing)); });
    const { signal } = stop;
    try {
      const socket = await dial(addressOf(proxy), signal).catch((error: unknown) => Promise.reject(unreachable(error, signal)));
      try {
        await askForTunnel(socket, proxy, authority(target), userAgent, signal);
        return await dial({ ...target, httpSocket: socket }, signal);
      } catch (error) {
        socket.on('error', () => undefined).destroy();
        throw error;
      }
    } finally {
      clearTimeout(timer);
      unfollow();
    }
  };
}

async function askForTunnel(socket: Socket, proxy: Proxy, target: string, userAgent: string, signal: AbortSignal): Promise<void> {
  const asking = request({
    method: 'CONNECT',
    path: target,
    createConnection: () => socket,
    headers: { host: target, 'user-agent': userAgent, ...(proxy.authorization === undefined ? {} : { 'proxy-authorization': proxy.authorization }) },
  });
  // It would say that the tunnel ends with the answer.
  asking.removeHeader('connection');
  const answered = new Promise<void>((resolve, reject) => {
    asking.on('connect', ({ statusCode = 0, statusMessage }, _socket, early) => {
      if (statusCode < 200 || statusCode > 299) {
        reject(refusedByProxy(statusCode, statusMessage, proxy.variable, proxy.authorization !== undefined));
      } else {
        if (early.length > 0) socket.unshift(early);
        resolve();
      }
    });
    asking.on('error', (error) => { reject(cut(error)); });
  });
  asking.end();
  await raceAbort(answered, signal);
}

function addressOf({ url }: Proxy): buildConnector.Options {
  return { protocol: url.protocol, host: url.host, hostname: url.hostname.replace(/^\[(.*)\]$/u, '$1'), port: url.port };
}

/** `host:port` of the target; an IPv6 address stays in its brackets. */
function authority({ host = '', port, protocol }: buildConnector.Options): string {
  return port === '' ? `${host}:${protocol === 'https:' ? '443' : '80'}` : host;
}

function unreachable(error: unknown, signal: AbortSignal): Error {
  if (signal.aborted) return abortReason(signal);
  if (error instanceof RwxCacheError) return error; // certificates that cannot be used
  const tls = isTlsFailure(error);
  return new ProxyFailure({ problem: `the proxy itself cannot be reached${tls ? ' by TLS' : ''}: ${problemOf(error)}`, retry: !tls, cause: error });
}

function cut(error: Error): ProxyFailure {
  const { code = '' } = error as NodeJS.ErrnoException;
  const problem = code.startsWith('HPE_') ? 'its answer to CONNECT is not HTTP' : `it ended the connection before it had answered CONNECT (${problemOf(error)})`;
  return new ProxyFailure({ problem, retry: !code.startsWith('HPE_'), cause: error });
}
