// Returns which layer of policy decided, as a label. The set of labels is fixed.
import type { EntryRule } from '@tollgate/proto/contract';
import type { Decision } from '../engine/decide/decision.ts';

/** `none`: no rule decided, for example a revoked key, a run's cap, or a call that could not be read. */
export const layerOf = ({ rule }: Pick<Decision, 'rule'>): EntryRule['layer'] | 'none' => rule?.layer ?? 'none';
