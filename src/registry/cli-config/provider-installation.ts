/**
 * The `provider_installation` block: where packages come from (`cliconfig/provider_installation.go`). Pure.
 */
import { normalize } from 'node:path';
import type { HclAttribute, HclBlock, SourceRange } from '../../hcl/index.ts';
import { InvalidOptionError, InvalidProviderAddressError } from '../../errors.ts';
import { parseProviderAddress } from '../../layout/index.ts';
import { providerMatcher } from '../sources/patterns.ts';
import type { ProviderSource, SourcePatterns } from '../sources/types.ts';
import { checkPlainBlock, complaint, count, flag, lastAttribute, placeOf, requiredText, text, texts, type ParsedFile } from './section.ts';

/** One block. */
export interface ProviderInstallation {
  readonly sources: readonly ProviderSource[];
  /** Directories by provider address. */
  readonly devOverrides: ReadonlyMap<string, string>;
  /** `download_retry_count` of the first method that says it. */
  readonly downloadRetryCount: number | undefined;
  /** Where it stands. */
  readonly file: ParsedFile;
  readonly range: SourceRange;
}

const SETTING = 'provider_installation';

/**
 * Reads a block.
 * @param defaultHost - the host of addresses and patterns that name none
 * @throws CliConfigError
 */
export function readInstallation(file: ParsedFile, item: HclAttribute | HclBlock, defaultHost: string): ProviderInstallation {
  const block = checkPlainBlock(file, item, SETTING);
  const sources: ProviderSource[] = [];
  const devOverrides = new Map<string, string>();
  let downloadRetryCount: number | undefined;
  for (const inner of block.body.items) {
    const method = checkPlainBlock(file, inner, SETTING);
    if (method.type === 'dev_overrides') {
      if (sources.length > 0) throw complaint(file, placeOf(method), 'dev_overrides', 'it stands before all other methods, since it beats them all');
      for (const [address, path] of readOverrides(file, method, defaultHost)) devOverrides.set(address, path);
      continue;
    }
    sources.push(readMethod(file, method, defaultHost));
    const retries = lastAttribute(file, method.body, 'download_retry_count');
    if (retries !== undefined && (method.type === 'direct' || method.type === 'network_mirror')) downloadRetryCount ??= count(file, retries);
  }
  return { sources, devOverrides, downloadRetryCount, file, range: block.headerRange };
}

function readMethod(file: ParsedFile, method: HclBlock, defaultHost: string): ProviderSource {
  const patterns = readPatterns(file, method, defaultHost);
  switch (method.type) {
    case 'direct':
      return { type: 'direct', ...patterns };
    case 'filesystem_mirror':
      return { type: 'filesystem_mirror', path: requiredText(file, method, 'path').value, ...patterns };
    case 'network_mirror': {
      const { value, attribute } = requiredText(file, method, 'url');
      // Whether plain http is taken is for whoever asks the mirror to say.
      if (!URL.canParse(value) || !/^https?:$/u.test(new URL(value).protocol)) throw complaint(file, attribute.valueRange, 'network_mirror', 'url is an absolute https URL');
      const trust = lastAttribute(file, method.body, 'trust_all_hashes');
      return { type: 'network_mirror', url: value, ...(trust !== undefined && flag(file, trust) ? { trustAllHashes: true } : {}), ...patterns };
    }
    case 'oci_mirror':
      return { type: 'oci_mirror', repositoryTemplate: requiredText(file, method, 'repository_template').value, ...patterns };
    default:
      throw complaint(file, placeOf(method), SETTING, 'there is no such method; it is one of dev_overrides, filesystem_mirror, network_mirror, oci_mirror, direct');
  }
}

function readPatterns(file: ParsedFile, method: HclBlock, defaultHost: string): SourcePatterns {
  const include = texts(file, lastAttribute(file, method.body, 'include'));
  const exclude = texts(file, lastAttribute(file, method.body, 'exclude'));
  for (const { value, range } of [...include, ...exclude]) {
    try {
      providerMatcher({ include: [value] }, method.type, defaultHost);
    } catch (error) {
      if (!(error instanceof InvalidOptionError)) throw error;
      throw complaint(file, range, method.type, error.message.replace(/^Invalid option [^:]*: /u, ''));
    }
  }
  const values = (list: typeof include): string[] => list.map(({ value }) => value);
  return { ...(include.length === 0 ? {} : { include: values(include) }), ...(exclude.length === 0 ? {} : { exclude: values(exclude) }) };
}

function readOverrides(file: ParsedFile, block: HclBlock, defaultHost: string): [address: string, path: string][] {
  return block.body.items.map((item) => {
    if (item.kind === 'block') throw complaint(file, placeOf(item), 'dev_overrides', 'it holds lines of the form "namespace/type" = "directory"');
    const path = text(file, item);
    try {
      return [String(parseProviderAddress(item.name, { defaultHost })), normalize(path)];
    } catch (error) {
      if (!(error instanceof InvalidProviderAddressError)) throw error;
      throw complaint(file, item.nameRange, 'dev_overrides', error.message);
    }
  });
}
