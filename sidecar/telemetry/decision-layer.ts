// Which layer of policy decided, as a label: a closed set.
import type { EntryRule } from '@tollgate/proto/contract';
import type { Decision } from '../decide/decision.ts';

/** `none` where no rule did: a key that is revoked, a run's cap, a call that could not be read. */
export const layerOf = ({ rule }: Pick<Decision, 'rule'>): EntryRule['layer'] | 'none' => rule?.layer ?? 'none';
