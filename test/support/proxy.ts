/** A real HTTP proxy on 127.0.0.1: CONNECT and absolute-form, over TLS if wanted, with a log of what it was asked, and with faults. */
import { createServer as createHttpServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import type { Certificate } from './certificate.ts';

/** Options of a proxy. */
export interface ProxyBehaviour {
  /** Serves TLS to its clients. */
  readonly tls?: Certificate | undefined;
  /** `user:password` that it wants. */
  readonly credentials?: string | undefined;
  /** Where names lead, by `host:port` as the client says it; what is not here is connected to as it is. */
  readonly hosts?: Readonly<Record<string, number>> | undefined;
  /** For each request in turn, until the list is used up: the status it refuses with; `'end'`, no answer; `'hang'`, none ever; or after how many bytes from the target it cuts, or `'stall'`s. */
  readonly faults?: readonly (number | 'end' | 'hang' | 'junk' | { readonly cutAfter: number } | { readonly stallAfter: number })[] | undefined;
}

/** One request as it came to the proxy. */
export interface ProxiedRequest {
  readonly method: string;
  /** `host:port`, or a whole URL. */
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
}

/** A proxy that runs until its test ends. */
export interface TestProxy {
  /** `http://127.0.0.1:<port>`, or https. */
  readonly origin: string;
  readonly port: number;
  readonly requests: readonly ProxiedRequest[];
  /** Connections of clients that are open now. */
  openConnections(): number;
  /** The most that were open at once. */
  mostConnections(): number;
}

type Fault = NonNullable<ProxyBehaviour['faults']>[number];

/** Starts one. */
export async function startProxy(t: TestContext, behaviour: ProxyBehaviour = {}): Promise<TestProxy> {
  const requests: ProxiedRequest[] = [];
  const sockets = new Set<Duplex>();
  const faults = [...(behaviour.faults ?? [])];
  let most = 0;

  /** Notes a request; the fault that it meets. */
  function receive(request: IncomingMessage): Fault | undefined {
    requests.push({ method: request.method ?? '', target: request.url ?? '', headers: request.headers });
    const wanted = behaviour.credentials;
    if (wanted !== undefined && request.headers['proxy-authorization'] !== `Basic ${Buffer.from(wanted).toString('base64')}`) return 407;
    return faults.shift();
  }
  function addressOf(authority: string): { readonly host: string; readonly port: number } {
    const { hostname, port } = new URL(`http://${authority}`);
    const mapped = behaviour.hosts?.[authority];
    return mapped === undefined ? { host: hostname.replace(/^\[(.*)\]$/u, '$1'), port: Number(port === '' ? 80 : port) } : { host: '127.0.0.1', port: mapped };
  }

  const forward = (request: IncomingMessage, response: ServerResponse): void => {
    const fault = receive(request);
    if (fault === 'hang') return;
    if (typeof fault === 'number') {
      response.writeHead(fault, { 'proxy-authenticate': 'Basic' }).end('refused by the proxy');
      return;
    }
    if (fault === 'end' || fault === 'junk') {
      request.socket.destroy();
      return;
    }
    const url = new URL(request.url ?? '');
    const headers = { ...request.headers };
    delete headers['proxy-authorization'];
    const passed = httpRequest({ ...addressOf(url.port === '' ? `${url.hostname}:80` : url.host), path: `${url.pathname}${url.search}`, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      relay(answer, request.socket, fault, (chunk) => { response.write(chunk); }, () => { response.end(); });
    });
    passed.on('error', () => { response.destroy(); }).end();
  };
  const tunnel = (request: IncomingMessage, socket: Duplex): void => {
    const fault = receive(request);
    socket.on('error', () => undefined);
    if (fault === 'hang') {
      socket.resume().on('end', () => socket.destroy());
      return;
    }
    if (fault === 'end') socket.destroy();
    else if (fault === 'junk') socket.end('this is no answer\r\n\r\n');
    else if (typeof fault === 'number') socket.end(`HTTP/1.1 ${fault} Refused\r\nProxy-Authenticate: Basic\r\n\r\nrefused by the proxy`);
    else {
      const target = connect(addressOf(request.url ?? ''), () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        socket.pipe(target);
        relay(target, socket, fault, (chunk) => { socket.write(chunk); }, () => { socket.end(); });
      });
      target.on('error', () => { socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'); });
      socket.on('close', () => target.destroy());
    }
  };

  const server = behaviour.tls === undefined ? createHttpServer(forward) : createHttpsServer({ key: behaviour.tls.key, cert: behaviour.tls.certificate }, forward);
  server.on('connect', tunnel);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    most = Math.max(most, sockets.size);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `${behaviour.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, port, requests, openConnections: () => sockets.size, mostConnections: () => most };
}

/** Passes on what comes from the target, up to the fault. */
function relay(from: NodeJS.ReadableStream, client: Duplex, fault: Fault | undefined, write: (chunk: Buffer) => void, end: () => void): void {
  const limit = typeof fault !== 'object' ? Infinity : 'cutAfter' in fault ? fault.cutAfter : fault.stallAfter;
  let passed = 0;
  from.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, limit - passed);
    if (part.length > 0) write(part);
    passed += part.length;
    if (passed >= limit && typeof fault === 'object' && 'cutAfter' in fault) setImmediate(() => client.destroy());
  });
  from.on('end', () => { if (passed < limit) end(); });
  from.on('error', () => client.destroy());
}
