/** The http room: what the floors above import. Not a public subpath. */
export type {
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
export { createHttpClient } from './client.ts';
