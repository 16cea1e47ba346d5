// placeholder while the helper starts
import type { Rule } from '@tollgate/proto/contract';

export type TierRulesDocument = Readonly<Record<string, Rule>>;

/** A policy document as stored and returned: what was sent, merged. */
export interface PolicyDocument {
  readonly mode?: 'enforce' | 'audit' | 'audit-only';
  readonly defaults?: TierRulesDocument;
  readonly tools?: Readonly<Record<string, TierRulesDocument>>;
  /** Only in user documents. */
  readonly agentTypes?: Readonly<Record<string, TierRulesDocument>>;
  /** Only in the workspace document, as are the next two. */
  readonly unknownAgents?: 'allow' | 'deny';
  readonly auditUnavailable?: 'allow' | 'deny';
  readonly outage?: { readonly maxStalenessSeconds?: number; readonly then?: Readonly<Record<string, 'deny' | 'last_known'>> };
}
