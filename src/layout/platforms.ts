/** Platforms as Go names them, which is how registries and directories do. Pure. */
import { endianness } from 'node:os';
import { InvalidPlatformError } from '../errors.ts';

/** An operating system and a processor architecture, frozen. */
export class Platform {
  /** Go's name of the system, for example `linux`, `darwin`, `windows`. */
  readonly os: string;
  /** Go's name of the architecture, for example `amd64`, `arm64`, `386`. */
  readonly arch: string;

  /** @internal */
  constructor(os: string, arch: string) {
    this.os = os;
    this.arch = arch;
    Object.freeze(this);
  }

  /** The text that directories and lock files have: `linux_amd64`. */
  toString(): string {
    return `${this.os}_${this.arch}`;
  }
}

// The clients only ask for one underscore and no white space; but a platform becomes a directory's name here,
// so what is no plain name is refused as well.
const PLATFORM = /^([0-9A-Za-z.-]+)_([0-9A-Za-z.-]+)$/u;

/**
 * Reads `os_arch`. Any two words of letters, digits, dots and hyphens will do: registries may know platforms that
 * this library does not.
 *
 * @throws InvalidPlatformError when it is anything else.
 */
export function parsePlatform(text: string): Platform {
  const [, os, arch] = PLATFORM.exec(text) ?? [];
  if (os === undefined || arch === undefined) throw new InvalidPlatformError(text);
  return new Platform(os, arch);
}

/** The platform that this process runs on. */
export function currentPlatform(): Platform {
  return goPlatform(process.platform, process.arch, endianness());
}

const GO_SYSTEMS: Readonly<Record<string, string>> = { win32: 'windows', sunos: 'solaris' };
const GO_ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', mipsel: 'mipsle' };

/** Go's names for Node's; where the two agree, or Go has none, the name stays. */
export function goPlatform(platform: string, arch: string, byteOrder: 'BE' | 'LE'): Platform {
  // Node calls both byte orders of this one the same.
  const goArch = arch === 'ppc64' && byteOrder === 'LE' ? 'ppc64le' : (GO_ARCHITECTURES[arch] ?? arch);
  return new Platform(GO_SYSTEMS[platform] ?? platform, goArch);
}
