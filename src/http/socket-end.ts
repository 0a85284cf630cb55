/**
 * Keeps the end of a connection from undici until it can take it.
 *
 * undici 7 pauses its parser while nobody reads the body. When the connection of an answer with `Connection: close` ends in
 * that state, an assertion fails in the socket's event handler, which nothing can catch: the process dies (nodejs/undici#5360, mended
 * in 8 only, which needs Node 22). A download to a slow disk from a server or proxy that closes its connections is enough.
 *
 * undici takes bytes by `socket.read()`, until that gives `null`; paused, it does not ask again. So the last answer of `read` tells
 * which it is, and the end is held back until it asks and gets nothing.
 */
import type { Socket } from 'node:net';

/** Guards a new socket, before undici attaches itself to it. */
export function holdEnd(socket: Socket): void {
  const read = socket.read.bind(socket) as (size?: number) => unknown;
  const push = socket.push.bind(socket);
  const emit = socket.emit.bind(socket) as (event: string | symbol, ...given: unknown[]) => boolean;
  let paused = false;
  let ended = false;

  socket.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (chunk === null && paused) {
      ended = true;
      return false;
    }
    return push(chunk, encoding);
  };
  socket.read = (size?: number): unknown => {
    const chunk = read(size);
    if (size !== undefined) return chunk; // Node itself, which only wants the next bytes to be fetched
    paused = chunk !== null;
    if (!paused && ended) {
      ended = false;
      push(null);
    }
    return chunk;
  };
  // The same assertion stands in undici's way from a reset to the end; under another name it is an error like any other.
  socket.emit = (event: string | symbol, ...given: unknown[]): boolean => {
    const [error] = given;
    if (event === 'error' && paused && error instanceof Error) return emit(event, Object.assign(new Error(error.message), { code: 'UND_ERR_SOCKET' }));
    return emit(event, ...given);
  };
}
