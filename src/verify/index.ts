/** Checksums, signatures, package hashes and dependency lock files, exactly as the reference clients have them. */
export { checksumFor, parseChecksums, signedHashes } from './checksums.ts';
export { readDependencyLocks, updateDependencyLocks } from './dependency-locks.ts';
export type { ReadDependencyLocksOptions, UpdateDependencyLocksOptions } from './dependency-locks.ts';
export type { LockFileTool } from './dependency-locks-text.ts';
export type { DependencyLocks, DependencyLocksUpdate, LockedProvider, LockedProviderChange } from './dependency-locks-types.ts';
export { hashDirectory } from './hash-directory.ts';
export { hashZipContents, hashZipFile } from './hash-zip.ts';
export type { HashZipOptions } from './hash-zip.ts';
export { matchesExpected, packageHashFromFiles, parseHash } from './package-hash.ts';
export type { HashedFile, HashVerdict, PackageHash } from './package-hash.ts';
export { checkRegistryPackages } from './registry-packages.ts';
export type { RegistryPackagesCheck, ReportedPackage } from './registry-packages.ts';
export { verifyChecksumsSignature } from './signature.ts';
export type { ExpiredKeyPolicy, SignatureCheck, VerifiedSignature } from './signature.ts';
