/**
 * Signatures checked on a thread of their own: `openpgp` takes 45 ms to load (measured), which then pass beside a download and not
 * before it, and a key that is expensive to check holds up no heartbeat.
 */
import { SignatureInvalidError, type SignatureProblem } from '../errors.ts';
import { startThread } from '../thread.ts';
import type { SignatureCheck, VerifiedSignature } from './signature.ts';

/** The worker's answer: errors lose their class and data between threads, so a refusal crosses as data. */
export type SignatureAnswer =
  | { readonly verified: VerifiedSignature }
  | { readonly refused: { readonly reason: SignatureProblem; readonly problem: string; readonly keyIds: readonly string[] } };

/** Checks signatures until it is closed. */
export interface SignatureThread {
  /** As `verifyChecksumsSignature`, and with its errors. */
  verify(check: SignatureCheck): Promise<VerifiedSignature>;
  /** Whether it can still be asked. */
  readonly running: boolean;
  close(): Promise<void>;
}

/** Starts the thread, which begins to load `openpgp` at once. */
export function startSignatureThread(): SignatureThread {
  const thread = startThread<SignatureCheck, SignatureAnswer>('./signature-worker', import.meta.url);
  return {
    get running() {
      return thread.running;
    },
    verify: async (check) => {
      const answer = await thread.call(check);
      if ('verified' in answer) return answer.verified;
      const { reason, problem, keyIds } = answer.refused;
      throw new SignatureInvalidError(reason, problem, keyIds);
    },
    close: () => thread.end(),
  };
}
