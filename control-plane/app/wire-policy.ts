// Builds the parts that bring policy to sidecars: the watch on revisions, the publisher, and the ledger of limits,
// which follows the policy.
import type { Logger } from 'pino';
import type { OperationDeps } from '../access/operation.ts';
import type { ApprovalWatch } from '../approvals/operations/watch.ts';
import { approvalChannel } from '../approvals/store/approvals.ts';
import type { Undo } from '../base/undo.ts';
import { readAhead } from '../policies/operations/read-ahead.ts';
import { createPublisher, type Publisher } from '../publish/publisher.ts';
import { watchQuotaPolicy } from '../publish/quota-policy.ts';
import { listeningTogether } from '../publish/revision-changes.ts';
import { type RevisionListener, type RevisionWatch, watchRevisions } from '../publish/store/watch-revisions.ts';
import { createLedger, type Ledger, type QuotaMetrics } from '../quota/operations/ledger.ts';
import { createRecalls } from '../quota/operations/recalls.ts';
import type { CrowdedKeys } from '../quota/operations/remove-excess-counters.ts';
import { recallChannel } from '../quota/store.ts';
import { readWorkspace } from '../workspaces/store/workspace-state.ts';
import type { Database } from './wire-database.ts';

interface PolicyDeps extends Pick<OperationDeps, 'defaults' | 'needs'> {
  readonly database: Pick<Database, 'pool' | 'connection'>;
  readonly crowded: CrowdedKeys;
  readonly approvalWatch: Pick<ApprovalWatch, 'heard'>;
  readonly revisions: RevisionListener;
  readonly metrics: QuotaMetrics;
  readonly log: Logger;
}

export interface PolicyParts {
  readonly publisher: Publisher;
  readonly watch: RevisionWatch;
  readonly ledger: Ledger;
}

export function wirePolicy(
  { database, defaults, needs, crowded, approvalWatch, revisions, metrics, log }: PolicyDeps,
  undo: Undo,
): PolicyParts {
  const { pool, connection } = database;
  const now = (): number => performance.now();
  const publisher = createPublisher({
    read: async (id, since) => {
      const found = await readWorkspace(pool, id, since);
      await readAhead(found?.state.documents.map(({ document }) => document) ?? []);
      return found;
    },
    defaults,
    needs,
    log,
  });
  undo.push(() => publisher.close());
  const recalls = createRecalls({ pool, now, log });
  const watch = watchRevisions({ pool, connection, log }, listeningTogether(publisher, revisions), {
    [recallChannel]: (payload) => recalls.heard(payload),
    [approvalChannel]: (payload) => approvalWatch.heard(payload),
  });
  undo.push(() => watch.close());
  const watchPolicy = (workspaceId: number) => watchQuotaPolicy({ publisher, defaults }, workspaceId);
  return { publisher, watch, ledger: createLedger({ pool, watchPolicy, recalls, metrics, crowded, now }) };
}
