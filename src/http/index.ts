/** The http room: what the floors above import. Not a public subpath. */
export type {
  BasicCredentials,
  BearerToken,
  ClientCertificate,
  DownloadOptions,
  DownloadProgress,
  DownloadResult,
  OpenDownload,
  DownloadTarget,
  HttpClient,
  HttpClientOptions,
  HttpResponse,
  ProxyOptions,
  ReadOptions,
  RequestOptions,
} from './types.ts';
export type { FoundPartial, KeptPartial, PartialStore, SizedRepresentation } from './partial-store.ts';
export type { Representation } from './range.ts';
export { createHttpClient } from './client.ts';
