/**
 * What `NO_PROXY` says, as Go reads it (`golang.org/x/net/http/httpproxy`), oddities included: terraform users write it for Go. Pure.
 */
import { BlockList, isIP, isIPv4 } from 'node:net';
import { domainToASCII } from 'node:url';

/** Whether an address is reached without a proxy. */
export type Bypass = (hostname: string, port: string) => boolean;

type Matcher = (hostname: string, port: string, isAddress: boolean) => boolean;

/**
 * Reads a comma-separated list of addresses (`10.1.2.3`, `[2001:db8::1]:443`), CIDR blocks (`10.0.0.0/8`), and domains: `example.com`
 * means itself and all below it, `.example.com` and `*.example.com` only what is below it; both may end in a port. A lone `*` means
 * everything. What is none of these is ignored.
 */
export function parseNoProxy(text: string): Bypass {
  const blocks = new BlockList();
  const matchers: Matcher[] = [(hostname, _port, isAddress) => isAddress && blocks.check(hostname, family(hostname))];
  for (const part of text.split(',')) {
    const entry = part.trim().toLowerCase();
    if (entry === '*') return () => true;
    const block = parseBlock(entry);
    if (block !== undefined) {
      blocks.addSubnet(block.address, block.bits, family(block.address));
      continue;
    }
    const { host, port } = splitHostPort(entry);
    if (host === '') continue;
    matchers.push(isIP(host) === 0 ? domainMatcher(host, port) : addressMatcher(host, port));
  }
  return (hostname, port) => {
    const isAddress = isIP(hostname) !== 0;
    return matchers.some((matches) => matches(hostname, port, isAddress));
  };
}

/** Compares addresses, not their spelling. */
function addressMatcher(address: string, wanted: string): Matcher {
  const one = new BlockList();
  one.addAddress(address, family(address));
  return (hostname, port, isAddress) => isAddress && portMatches(wanted, port) && one.check(hostname, family(hostname));
}

/** Domains are compared with addresses, too: `.1` stands for `10.0.0.1`, in Go as well. */
function domainMatcher(given: string, wanted: string): Matcher {
  const host = given.startsWith('*.') ? given.slice(1) : given;
  const onlyBelow = host.startsWith('.');
  const suffix = ascii(onlyBelow ? host : `.${host}`);
  return (hostname, port) => portMatches(wanted, port) && (hostname.endsWith(suffix) || (!onlyBelow && hostname === suffix.slice(1)));
}

function portMatches(wanted: string, port: string): boolean {
  return wanted === '' || wanted === port;
}

function parseBlock(entry: string): { readonly address: string; readonly bits: number } | undefined {
  const [, address = '', bits = ''] = /^([^/%]+)\/(0|[1-9]\d{0,2})$/u.exec(entry) ?? [];
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return address !== '' && Number(bits) <= most ? { address, bits: Number(bits) } : undefined;
}

/** As Go's `net.SplitHostPort`; where that gives an error (no port, or a bare IPv6 address) all of it is the host. */
function splitHostPort(entry: string): { readonly host: string; readonly port: string } {
  const [, bracketed, plain, port] = /^(?:\[([^[\]]*)\]|([^[\]:]*)):([^[\]:]*)$/u.exec(entry) ?? [];
  return port === undefined ? { host: entry, port: '' } : { host: bracketed ?? plain ?? '', port };
}

function ascii(domain: string): string {
  // Every code unit beyond ASCII asks for IDNA; what has no such form stays as it is, and matches nothing.
  return /^[\u0000-\u007f]*$/u.test(domain) ? domain : domainToASCII(domain) || domain;
}

function family(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}
