/** Single connections, over TCP or TLS, as promises that end with a signal; undici's connectors know no signal and hide their socket's type. */
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { abortReason, onAbort } from '../abort.ts';
import { holdEnd } from './socket-end.ts';
import type { HttpSettings } from './settings.ts';
import { secureContext } from './trust.ts';

/** Opens a connection, or speaks TLS over the one that is given as `httpSocket`. An abort destroys it. */
export type Dial = (options: buildConnector.Options, signal: AbortSignal) => Promise<Socket>;

/** How undici asks for a connection. */
export type Connector = (options: buildConnector.Options, callback: buildConnector.Callback) => void;

/** Makes both kinds. Certificates are read when TLS is first spoken. */
export function createDial(build: typeof buildConnector, settings: HttpSettings): Dial {
  const basics = { allowH2: false, timeout: settings.connectTimeoutMs };
  const plain = build(basics);
  let secure: Promise<buildConnector.connector> | undefined;
  return async (options, signal) => {
    if (options.protocol !== 'https:') return connected(plain, options, signal);
    secure ??= secureContext(settings).then((trust) => build({ ...basics, ...trust }));
    return connected(await secure, options, signal);
  };
}

/** What undici takes, made of what gives a connection. */
export function connectorOf(open: (options: buildConnector.Options) => Promise<Socket>): Connector {
  return (options, callback) => {
    open(options).then(
      (socket) => {
        holdEnd(socket);
        callback(null, socket);
      },
      (error: unknown) => { callback(error as Error, null); },
    );
  };
}

function connected(connect: (...given: Parameters<buildConnector.connector>) => unknown, options: buildConnector.Options, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = connect(options, (...[error, established]) => {
      unfollow();
      if (error === null) resolve(established);
      else reject(error);
    }) as Socket;
    const unfollow = onAbort(signal, () => {
      socket.on('error', () => undefined).destroy();
      reject(abortReason(signal));
    });
  });
}
