/**
 * What must be known about a package before it is handed out. The same question is asked of a fresh
 * installation, a hit, and a joined call, so that an entry which another process installed under a laxer
 * policy is no hit here. Pure: no I/O.
 */
import { InvalidOptionError } from '../errors.ts';
import { DEFAULT_REGISTRY_HOST, normalizeHostname } from '../layout/index.ts';
import type { ExpiredKeyPolicy } from '../verify/index.ts';
import { sourceName } from '../errors/sources.ts';
import type { Provenance } from './record-format.ts';

/**
 * Whether the checksums must be signed: `'required'` refuses a package without a good signature; `'when-offered'`
 * checks it where the registry names keys (as OpenTofu does for its own registry); `'off'` checks none.
 */
export type SignaturePolicy = 'required' | 'when-offered' | 'off';

/** The rules for one registry host. */
export interface HostVerification {
  /** Whether the checksums must be signed. */
  readonly signature?: SignaturePolicy | undefined;
  /** What to make of a signature by a key that has expired since. Default `'warn'`, as OpenTofu has it. */
  readonly expiredKeys?: ExpiredKeyPolicy | undefined;
}

/** The rules of a cache. Without any, `'required'`, and `'when-offered'` for `registry.opentofu.org`. */
export interface VerificationOptions extends HostVerification {
  /** Rules for single registry hosts; they beat the general ones. */
  readonly hosts?: Readonly<Record<string, HostVerification>> | undefined;
}

/** The rules that hold for one package. */
export interface VerificationRules {
  readonly signature: SignaturePolicy;
  readonly expiredKeys: ExpiredKeyPolicy;
  /** The mirrors that this cache would take the package from, by name: what came from one of them needs no signature. */
  readonly trustedMirrors?: ReadonlySet<string> | undefined;
}

const SIGNATURE_POLICIES: readonly string[] = ['required', 'when-offered', 'off'] satisfies SignaturePolicy[];
const EXPIRY_POLICIES: readonly string[] = ['warn', 'accept-signed-before', 'reject'] satisfies ExpiredKeyPolicy[];

/** Checks the options once and answers the rules for a host (in display form). */
export function verificationRules(options: VerificationOptions = {}): (hostname: string) => VerificationRules {
  check('verification', options);
  const hosts = new Map<string, HostVerification>();
  for (const [hostname, rules] of Object.entries(options.hosts ?? {})) {
    check(`verification.hosts[${JSON.stringify(hostname)}]`, rules);
    hosts.set(normalizeHostname(hostname).display, rules);
  }
  return (hostname) => {
    const own = hosts.get(hostname);
    const usual = hostname === DEFAULT_REGISTRY_HOST ? 'when-offered' : 'required';
    return {
      signature: own?.signature ?? options.signature ?? usual,
      expiredKeys: own?.expiredKeys ?? options.expiredKeys ?? 'warn',
    };
  };
}

/**
 * Whether what is known of a package is enough under the rules. Mirrors carry no signatures: a package that came from one is good enough for
 * a cache that would have taken it from the same mirror, and for no other that wants signatures.
 */
export function satisfiesRules(rules: VerificationRules, provenance: Provenance): boolean {
  if (rules.signature === 'off') return true;
  if (provenance.source !== undefined && rules.trustedMirrors?.has(sourceName(provenance.source)) === true) return true;
  const { signature } = provenance;
  if (signature.status === 'not-offered') return rules.signature === 'when-offered';
  if (signature.status !== 'verified') return false;
  if (!signature.expired || rules.expiredKeys === 'warn') return true;
  return rules.expiredKeys === 'accept-signed-before' && signature.signedBeforeExpiry;
}

function check(option: string, rules: HostVerification): void {
  const given: unknown = rules;
  if (typeof given !== 'object' || given === null) throw new InvalidOptionError(option, 'it is an object with signature, expiredKeys, or both');
  if (rules.signature !== undefined && !SIGNATURE_POLICIES.includes(rules.signature)) {
    throw new InvalidOptionError(`${option}.signature`, `it is one of ${SIGNATURE_POLICIES.join(', ')}`);
  }
  if (rules.expiredKeys !== undefined && !EXPIRY_POLICIES.includes(rules.expiredKeys)) {
    throw new InvalidOptionError(`${option}.expiredKeys`, `it is one of ${EXPIRY_POLICIES.join(', ')}`);
  }
}
