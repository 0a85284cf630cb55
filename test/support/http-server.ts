/** Real HTTP and HTTPS servers on 127.0.0.1 with scripted answers and a log of what was asked. */
import { createServer as createHttpServer, type IncomingHttpHeaders, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { Certificate } from './certificate.ts';

/** A scripted answer. */
export interface ScriptedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array;
  /** How the end of the body is marked; `'close'` is HTTP/1.0 style, by the end of the connection. Default `'length'`. */
  readonly framing?: 'length' | 'chunked' | 'close';
  /** The connection ends after so many bytes of the body. */
  readonly cutAfter?: number;
  /** Nothing more comes after so many bytes of the body; -1: not even headers. The connection stays open. */
  readonly stallAfter?: number;
}

/** A script, a list of them (one for each request in turn, the last one for all others), or a function. */
export type Route = ScriptedAnswer | readonly ScriptedAnswer[] | ((request: IncomingMessage, response: ServerResponse) => void);

/** One request as it arrived. */
export interface LoggedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** A server that runs until its test ends. */
export interface TestServer {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly port: number;
  /** All requests so far. */
  readonly requests: readonly LoggedRequest[];
  /** Connections that are open now. */
  openConnections(): number;
  /** Ends it before its test does. */
  close(): Promise<void>;
}

/** Starts a server; `routes` are keyed by path without query, and `'*'` serves the rest (else 404). */
export async function startServer(t: TestContext, routes: Readonly<Record<string, Route>>, certificate?: Certificate): Promise<TestServer> {
  const requests: LoggedRequest[] = [];
  const counts = new Map<string, number>();
  const listener: RequestListener = (request, response) => {
    const target = request.url ?? '/';
    requests.push({ method: request.method ?? '', path: target, headers: request.headers });
    const path = target.split('?', 1)[0] ?? '/';
    const route = routes[path] ?? routes['*'] ?? { status: 404, body: 'not found' };
    const count = counts.get(path) ?? 0;
    counts.set(path, count + 1);
    if (typeof route === 'function') {
      route(request, response);
      return;
    }
    const script = isList(route) ? route[Math.min(count, route.length - 1)] : route;
    play(script ?? { status: 500 }, response);
  };
  const server: Server = certificate === undefined ? createHttpServer(listener) : createHttpsServer({ key: certificate.key, cert: certificate.certificate }, listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve) => {
      server.close(() => {
        resolve();
      });
      for (const socket of sockets) socket.destroy();
    });
    return closing;
  };
  t.after(close);
  return { origin: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, port, requests, openConnections: () => sockets.size, close };
}

function isList(route: ScriptedAnswer | readonly ScriptedAnswer[]): route is readonly ScriptedAnswer[] {
  return Array.isArray(route);
}

function play(script: ScriptedAnswer, response: ServerResponse): void {
  const body = Buffer.from(script.body ?? '');
  const { stallAfter, cutAfter, framing = 'length' } = script;
  if (stallAfter === -1) return;
  for (const [name, value] of Object.entries(script.headers ?? {})) response.setHeader(name, value);
  if (framing === 'length' && !response.hasHeader('content-length')) response.setHeader('content-length', body.length);
  if (framing === 'close') {
    response.setHeader('connection', 'close');
    response.removeHeader('transfer-encoding');
  }
  response.writeHead(script.status ?? 200);
  if (cutAfter !== undefined) {
    response.flushHeaders();
    const cut = (): void => {
      response.socket?.destroySoon();
    };
    if (cutAfter === 0) cut();
    else response.write(body.subarray(0, cutAfter), cut);
  } else if (stallAfter !== undefined) {
    response.flushHeaders();
    if (stallAfter > 0) response.write(body.subarray(0, stallAfter));
  } else {
    response.end(body);
  }
}
