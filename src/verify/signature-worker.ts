/** The thread behind signature-thread.ts. A program of its own, imported by nothing. */
import 'openpgp';
import { SignatureInvalidError } from '../errors.ts';
import { answerCalls } from '../thread.ts';
import type { SignatureAnswer } from './signature-thread.ts';
import { verifyChecksumsSignature, type SignatureCheck } from './signature.ts';

answerCalls(async (check): Promise<SignatureAnswer> => {
  try {
    return { verified: await verifyChecksumsSignature(check as SignatureCheck) };
  } catch (error) {
    if (!(error instanceof SignatureInvalidError)) throw error;
    const { reason, problem, keyIds } = error;
    return { refused: { reason, problem, keyIds } };
  }
});
