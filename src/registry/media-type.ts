/** What an answer says that it is. Pure. */
import { quoted } from './json-guards.ts';

/** What is wrong with the `content-type` of a JSON document, in words; `undefined` for `application/json` with whatever parameters. */
export function jsonTypeProblem(contentType: string | undefined): string | undefined {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (mediaType === 'application/json') return undefined;
  return `the answer is ${mediaType === '' ? 'without a content type' : `of type ${quoted(mediaType)}`}, and application/json is required; is there a login page or proxy in between?`;
}
