/** An answer as it comes off the network. Types only. */
import type { Dispatcher } from 'undici';
import type { Way } from './way.ts';

/** An answer whose body has not been read. Whoever gets one reads the body to its end or discards it. */
export interface Answer {
  readonly url: URL;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Dispatcher.ResponseData['body'];
  /** What it came through. */
  readonly way: Way;
}
