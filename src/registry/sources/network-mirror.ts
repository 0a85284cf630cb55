/**
 * A network mirror (provider network mirror protocol; `http_mirror_source.go` of the reference clients): which requests it gets, who
 * sees a token, and what its statuses mean. What its documents hold is read in the file beside this one; no package is verified here.
 */
import { domainToUnicode } from 'node:url';
import { redactUrl } from '../../diagnostics.ts';
import { AccessPolicyError, InvalidHostnameError, PlatformNotSupportedError, ProviderNotFoundError, RegistryResponseError, UnauthorizedError, type SourceDescription } from '../../errors.ts';
import { sourceName } from '../../errors/sources.ts';
import type { HttpResponse, ReadOptions, RequestOptions } from '../../http/index.ts';
import { isLoopback } from '../../http/loopback.ts';
import { normalizeHostname, type ProviderAddress } from '../../layout/index.ts';
import { MAX_JSON_BYTES, type RegistryTransport } from '../client.ts';
import { lookUpToken } from '../credentials.ts';
import { parseJson } from '../json-guards.ts';
import { jsonTypeProblem } from '../media-type.ts';
import { documentOf, getUnlessUnchanged } from '../metadata.ts';
import type { PackageRequest } from '../package-metadata.ts';
import { pathSegment } from '../path-segment.ts';
import type { VersionList } from '../version-list.ts';
import { parseMirrorIndex, parseMirrorVersion } from './mirror-documents.ts';
import type { ArchiveUrlOffer, PackageSource, SourceCallOptions, SourceVersionsOptions } from './source.ts';
import type { NetworkMirrorSource } from './types.ts';

interface MirrorRequest {
  readonly token: string | undefined;
  /** Why nobody can say whether there is one. */
  readonly failure: Error | undefined;
  readonly options: ReadOptions;
}

/**
 * A mirror as a source. Its host's token goes to its own origin, with the documents; with the zips there only by `packageCredentials`.
 *
 * A version that is asked for by name is asked for at once, without the index. Where the mirror answers 404, the index says what that
 * means: the reference, which only asks for what the index of *some* source lists, ends the search there.
 */
export function networkMirror(given: NetworkMirrorSource, source: SourceDescription, { http, credentials, clientVersion, packageAuthorization, metadata }: RegistryTransport): PackageSource {
  const base = new URL(given.url);
  const host = mirrorHost(base);
  const where = sourceName(source);
  // Checked before: plain http is this machine, or was allowed by name.
  const allowHttp = base.protocol === 'http:' && !isLoopback(base) ? 'always' : 'loopback';

  async function requestFor(signal: AbortSignal | undefined): Promise<MirrorRequest> {
    const { token, failure } = host === undefined ? NO_TOKEN : await lookUpToken(credentials, host.ascii, signal);
    return {
      token,
      failure,
      options: {
        accept: 'application/json',
        headers: { 'x-terraform-version': clientVersion },
        acceptStatus: [200, 401, 403, 404],
        maxBytes: MAX_JSON_BYTES,
        bearer: token === undefined ? undefined : { token, origins: [base.origin] },
        allowHttp,
      },
    };
  }

  /** The answer, if it is a document; `undefined` where the mirror has none. */
  function accepted<T extends HttpResponse>(answer: T, { token, failure }: MirrorRequest): T | undefined {
    // A mirror may hide what it has from whoever shows no token: then it is the failed look-up that counts.
    if (answer.status !== 200 && failure !== undefined) throw failure;
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw new UnauthorizedError(host?.display ?? base.host, token !== undefined);
    const problem = jsonTypeProblem(answer.headers['content-type']);
    if (problem !== undefined) throw new RegistryResponseError(redactUrl(answer.url), '', problem);
    return answer;
  }

  async function versions(address: ProviderAddress, options: SourceVersionsOptions): Promise<VersionList> {
    const request = await requestFor(options.signal);
    const url = documentUrl(base, address, 'index.json');
    const { value, kept } = await metadata.get<VersionList>(
      {
        key: ['mirror index', url.href, clientVersion],
        subject: `the list of versions of ${String(address)} (${where})`,
        token: request.token,
        fetch: async (validators, signal) => {
          const answer = await getUnlessUnchanged(http, url, { ...request.options, signal }, validators);
          if (answer === undefined) return undefined;
          const index = accepted(answer, request);
          if (index === undefined) throw new ProviderNotFoundError(String(address), undefined, where);
          return documentOf(index);
        },
        read: (document) => parseMirrorIndex(parseJson(document.text, redactUrl(document.url))),
        keeps: (list) => list.versions.length > 0,
      },
      options,
    );
    return kept ? { ...value, kept } : value;
  }

  async function offer(wanted: PackageRequest, options: SourceCallOptions): Promise<ArchiveUrlOffer> {
    const { address, version, platform } = wanted;
    const missing = (): Error => new PlatformNotSupportedError(String(address), String(version), String(platform), undefined, where);
    const request = await requestFor(options.signal);
    const answer = accepted(await http.getText(documentUrl(base, address, `${String(version)}.json`), { ...request.options, signal: options.signal }), request);
    if (answer === undefined) {
      const listed = await versions(address, options);
      if (!listed.versions.some((one) => String(one.version) === String(version))) throw missing();
      throw new RegistryResponseError(redactUrl(documentUrl(base, address, `${String(version)}.json`)), '', 'the index lists this version, and its document is not there (404)');
    }
    const archive = parseMirrorVersion(parseJson(answer.text, redactUrl(answer.url)), platform, answer.url);
    if (archive === undefined) throw missing();
    const url = redactUrl(archive.url);
    const zipHttp = zipOverHttp(new URL(archive.url), allowHttp, archive.hashes);
    return {
      kind: 'archive-url',
      source,
      url,
      hashes: archive.hashes,
      trustedHashes: given.trustAllHashes === true ? archive.allHashes : [],
      download: async (path, request) => {
        const authorization = host === undefined ? {} : await packageAuthorization(archive.url, host.display, request.signal, [base.origin]);
        return http.downloadOpen(archive.url, { path }, { ...request, ...authorization, allowHttp: zipHttp });
      },
    };
  }

  return { versions, offer };
}

/** A host that can have no token. */
const NO_TOKEN = { token: undefined, failure: undefined } as const;

/** A zip that a hash pins may come any way, as from a registry; one that nothing pins comes the way that the mirror's documents may come. */
function zipOverHttp(url: URL, allowHttp: RequestOptions['allowHttp'], hashes: readonly string[]): RequestOptions['allowHttp'] {
  if (hashes.length > 0) return 'always';
  if (url.protocol === 'http:' && allowHttp !== 'always' && !isLoopback(url)) {
    throw new AccessPolicyError(redactUrl(url), 'the mirror lists no hash for it, and plain http proves nothing; use https there, or let the mirror list hashes');
  }
  return allowHttp;
}

/** Where a document of a provider is. The host is in punycode with its port, as the reference has it; the leading `./` keeps that colon from reading as a scheme. */
function documentUrl(base: URL, address: ProviderAddress, name: string): URL {
  const segments = [pathSegment(address.hostnameAscii).replaceAll('%3A', ':'), pathSegment(address.namespace), pathSegment(address.type), pathSegment(name)];
  return new URL(`./${segments.join('/')}`, base);
}

/** Whose token the mirror gets; `undefined` where its host is no name that can have one (an IPv6 literal). */
function mirrorHost(base: URL): ReturnType<typeof normalizeHostname> | undefined {
  try {
    return normalizeHostname(`${domainToUnicode(base.hostname)}${base.port === '' ? '' : `:${base.port}`}`);
  } catch (error) {
    if (error instanceof InvalidHostnameError) return undefined;
    throw error;
  }
}
