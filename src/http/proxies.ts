/**
 * Which proxy serves a URL: the rules of Go's `http.ProxyFromEnvironment` (`golang.org/x/net/http/httpproxy`), which the reference
 * clients follow. Pure: it reads nothing but what it is given.
 */
import { InvalidOptionError } from '../errors.ts';
import { isLoopback } from './loopback.ts';
import { parseNoProxy } from './no-proxy.ts';
import { basicCredentials } from './origin-headers.ts';
import { ProxyFailure } from './proxy-failure.ts';
import type { HttpClientOptions, ProxyOptions } from './types.ts';
import type { Proxy } from './way.ts';

/** Gives the proxy for a URL, `undefined` where it is reached directly. Throws {@link ProxyFailure} where there is one that cannot be used. */
export type ProxyChooser = (url: URL) => Proxy | undefined;

/**
 * The chooser that `proxy` asks for. The environment is read now; what it holds is judged when a URL needs it, since a mistake
 * in `HTTPS_PROXY` is none of http's business.
 * @throws InvalidOptionError - proxies were given by option, and one is no URL of a proxy
 */
export function proxyChooser(option: HttpClientOptions['proxy'], environment: Readonly<Record<string, string | undefined>>): ProxyChooser {
  if (option === 'none') return () => undefined;
  if (option === undefined || option === 'environment') return chooserOf(fromEnvironment(environment));
  if (typeof option !== 'object' || (option as unknown) === null) throw new InvalidOptionError('proxy', "it is 'environment', 'none', or an object with http, https and noProxy");
  const given = fromOptions(option);
  for (const { value, variable } of [given.http, given.https]) {
    const proxy = value === '' ? undefined : parseProxy(value, variable);
    if (proxy instanceof ProxyFailure) throw new InvalidOptionError(variable, proxy.problem);
  }
  return chooserOf(given);
}

interface Setting {
  readonly value: string;
  readonly variable: string;
}

interface Config {
  readonly http: Setting;
  readonly https: Setting;
  readonly noProxy: string;
  readonly cgi: boolean;
}

/** The upper-case name wins, as in Go; an empty value counts as none. */
function fromEnvironment(environment: Readonly<Record<string, string | undefined>>): Config {
  const read = (name: string): Setting => {
    const variable = [name, name.toLowerCase()].find((candidate) => (environment[candidate] ?? '') !== '');
    return { value: variable === undefined ? '' : (environment[variable] ?? ''), variable: variable ?? name };
  };
  return { http: read('HTTP_PROXY'), https: read('HTTPS_PROXY'), noProxy: read('NO_PROXY').value, cgi: (environment['REQUEST_METHOD'] ?? '') !== '' };
}

function fromOptions({ http = '', https = '', noProxy = '' }: ProxyOptions): Config {
  return { http: { value: http, variable: 'proxy.http' }, https: { value: https, variable: 'proxy.https' }, noProxy, cgi: false };
}

function chooserOf({ http, https, noProxy, cgi }: Config): ProxyChooser {
  if (http.value === '' && https.value === '') return () => undefined;
  const bypass = once(() => parseNoProxy(noProxy));
  const plain = once(() => parseProxy(http.value, http.variable));
  const secure = once(() => parseProxy(https.value, https.variable));
  return (url) => {
    const isHttps = url.protocol === 'https:';
    if ((isHttps ? https : http).value === '') return undefined;
    if (!isHttps && cgi) {
      // A web server hands a request's `Proxy:` header to its CGI programs as HTTP_PROXY.
      throw new ProxyFailure({ problem: `${http.variable} is not used where REQUEST_METHOD is set (a CGI program): whoever sends a request could set it`, retry: false });
    }
    if (isLoopback(url) || isMappedLoopback(url.hostname)) return undefined;
    if (bypass()(url.hostname.replace(/^\[(.*)\]$/u, '$1'), url.port === '' ? (isHttps ? '443' : '80') : url.port)) return undefined;
    const proxy = (isHttps ? secure : plain)();
    if (proxy instanceof ProxyFailure) throw proxy;
    return proxy;
  };
}

/** The URL of a proxy; without a scheme it is http. Go goes on with nonsense as a host name that cannot be found; here it has a name. */
function parseProxy(value: string, variable: string): Proxy | ProxyFailure {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\/./iu.exec(value)?.[1];
  const text = scheme === undefined ? `http://${value}` : value;
  // The value itself may hold a password, and stays out of the message.
  if (scheme !== undefined && !/^https?$/iu.test(scheme)) {
    return new ProxyFailure({ problem: `${variable} names a proxy of kind ${scheme.toLowerCase()}, and only http and https proxies are supported; name one of these`, retry: false });
  }
  if (!URL.canParse(text)) return new ProxyFailure({ problem: `${variable} does not hold the URL of a proxy, such as http://proxy.example.com:3128`, retry: false });
  const url = new URL(text);
  return { url: new URL(url.origin), authorization: basicCredentials(url), variable };
}

/** `127.0.0.0/8` in IPv6's clothes; Go takes it for loopback, too. */
function isMappedLoopback(hostname: string): boolean {
  return /^\[::ffff:7f[0-9a-f]{2}:/u.test(hostname);
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
