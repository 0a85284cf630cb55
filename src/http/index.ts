/** The http room: what the floors above import. Not a public subpath. */
export type {
  BasicCredentials,
  BearerToken,
  DownloadOptions,
  DownloadProgress,
  DownloadResult,
  OpenDownload,
  DownloadTarget,
  HttpClient,
  HttpClientOptions,
  HttpResponse,
  ReadOptions,
  RequestOptions,
} from './types.ts';
export type { FoundPartial, KeptPartial, PartialStore, SizedRepresentation } from './partial-store.ts';
export type { Representation } from './range.ts';
export { createHttpClient } from './client.ts';
