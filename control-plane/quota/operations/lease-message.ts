// The messages of sidecars that the ledger answers, before and after policy is applied to them, and their answers.
import type { QuotaAnswer, QuotaAsk, QuotaCounter } from '@tollgate/proto/contract';
import type { QuotaPolicy } from '../../publish/quota-policy.ts';
import type { RecalledHolder } from '../rules/ledger.ts';
import type { Asker, PlannedAsk } from './plan-ask.ts';

export interface LeaseMessage {
  readonly workspaceId: number;
  /** SHA-256 of the secret that the process shows, in hex. */
  readonly holder: string;
  readonly asker: Asker;
  /**
   * Whether the key already has the maximum number of counters of runs. If true, no new counter of a run is created for
   * it.
   */
  readonly isCrowded: boolean;
  /** The asks of the message. Their form is valid: `asksProblem` has found no problem. */
  readonly asks: readonly QuotaAsk[];
  readonly policy: QuotaPolicy;
  /** Whether the holder can still receive the answer, as far as this process knows. */
  readonly isHeard: () => boolean;
}

export interface GrantRecall extends RecalledHolder {
  readonly counter: QuotaCounter;
}

export type AskAnswers =
  | {
      readonly answers: readonly QuotaAnswer[];
      readonly recalls: readonly GrantRecall[];
      /**
       * How many asks were for counters that the asker is not permitted to use, or that were not created because its
       * key has too many.
       */
      readonly beyond: number;
    }
  /** The statement of the message that cannot be true. */
  | { readonly falseClaim: string };

export interface PlannedMessage {
  readonly workspaceId: number;
  readonly holder: string;
  readonly asker: Asker;
  readonly isCrowded: boolean;
  readonly isHeard: () => boolean;
  readonly planned: readonly PlannedAsk[];
}
