// The approvals of one call of a root run. A question is not asked at once: the run first makes the calls that need no
// one, and then asks all questions of the round in the transaction that stores the run as waiting. A call that is
// resumed gets the answer that was read when the run was resumed.
import { type ApprovalAsk, type ApprovalStatus, type AskedCall, canonicalJson, digestText } from '@tollgate/proto/contract';
import type { Approvals, AskedAnswer } from '@tollgate/sidecar/engine';

/** A question of a call that waits until `answer` is called. */
export interface Question {
  readonly ask: ApprovalAsk;
  /** Whether the call was counted as an attempt of the run when it asked the same before the run waited. */
  readonly isCounted: boolean;
  readonly answer: (answer: AskedAnswer) => void;
}

/** The answer to an earlier question. */
export interface KnownAnswer {
  readonly askDigest: string;
  readonly approval: ApprovalStatus;
  /** Whether that question was an attempt of the run. */
  readonly isCounted: boolean;
}

/** The digest of everything that an approval is bound to. */
export const askDigestOf = ({ call }: ApprovalAsk): string => digestText(canonicalJson(call));

interface CallApprovalsParts {
  /** The ledger, which the claims go to. */
  readonly real: Approvals;
  /** Null: the call is decided for the first time, or it was not asked for. */
  readonly known: KnownAnswer | null;
  /** Called before a use is claimed. If it rejects, nothing is claimed. */
  readonly beforeClaim: () => Promise<void>;
  /** Called with each question. */
  readonly asked: (question: Question) => void;
}

export function createCallApprovals({ real, known: answer, beforeClaim, asked }: CallApprovalsParts): Approvals {
  let known = answer;
  return {
    ask: (ask, holding) => {
      const earlier = known?.askDigest === askDigestOf(ask) ? known : null;
      known = null;
      const isCounted = earlier?.isCounted ?? false;
      if (earlier !== null && earlier.approval.state !== 'pending') {
        holding.onAsked?.(isCounted);
        return Promise.resolve({ kind: 'approval', approval: earlier.approval, isNew: false });
      }
      return new Promise((done) =>
        asked({
          ask,
          isCounted,
          answer: (given) => {
            holding.onAsked?.(isCounted || (given.kind === 'approval' && given.isNew));
            done(given);
          },
        }),
      );
    },
    claim: async (approvalId: string, requestId: string, call: AskedCall) => {
      await beforeClaim();
      return real.claim(approvalId, requestId, call);
    },
    returnUse: (approvalId, requestId) => real.returnUse(approvalId, requestId),
    read: (approvalId, keyId) => real.read(approvalId, keyId),
  };
}
