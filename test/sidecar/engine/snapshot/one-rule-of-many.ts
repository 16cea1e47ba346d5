// One rule that changes repeatedly among 10,000 agents and 10,000 users: as a snapshot, then as deltas that each change
// it once.
import { snapshotHashAfter } from '@tollgate/proto/contract';
import type { DeltaMessage, SnapshotMessage } from '../../../../sidecar/engine/snapshot/verify.ts';
import { agent, document, member, type RawEntry, rawEntry, snapshotMessage } from '../../../support/snapshots.ts';

export const changingDocument = 'user:n-7:self';
const key = `document/${changingDocument}`;

export interface OneRuleOfMany {
  readonly first: SnapshotMessage;
  /** Returns the delta to the next revision. The n-th one, from 0, sets the rule's rate limit to n. */
  readonly next: () => DeltaMessage;
}

const ruleOf = (rateLimit: number): RawEntry =>
  rawEntry(key, document({ id: { layer: 'user', uid: 'n-7', part: 'self' }, tools: [['mail.send', [['api', { rateLimit }]]]] }));

export function createOneRuleOfMany(): OneRuleOfMany {
  const many = Array.from({ length: 10_000 }, (_, at) => `n-${at}`);
  const first = snapshotMessage({
    agents: many.map((id) => agent({ id, name: id })),
    members: many.map((uid) => member({ uid })),
    documents: many.map((uid) =>
      document({ id: { layer: 'user', uid, part: 'self' }, tools: [['mail.send', [['api', { permission: 'deny' }]]]] }),
    ),
    revision: 1,
  });
  let hash: Buffer = Buffer.from(first.hash);
  let held = first.entries.filter((entry) => entry.key === key);
  let number = 1;
  return {
    first,
    next: () => {
      const changed = ruleOf(number - 1);
      hash = snapshotHashAfter(hash, held, [changed]);
      held = [changed];
      number += 1;
      return {
        from: { epoch: 'e1', number: number - 1 },
        to: { epoch: 'e1', number },
        workspace: 'acme',
        schemaVersion: 1,
        hash,
        changed: [changed],
        removed: [],
      };
    },
  };
}
