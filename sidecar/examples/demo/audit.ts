// Proves at the end of the demo that the audit log, read over REST, contains every decision that was shown, each
// exactly once, and no others.
import type { AuditEntry } from '@tollgate/proto/contract';
import { workspace } from './policy.ts';
import type { Rest } from './rest.ts';
import type { Row } from './table.ts';

interface Page {
  readonly entries: readonly AuditEntry[];
  readonly next?: string;
}

/** Returns all entries of the last 15 minutes, oldest first. */
export async function readAudit(owner: Rest): Promise<readonly AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const page: Page = await owner<Page>('GET', `/${workspace}/admin/audit?limit=1000${cursor === '' ? '' : `&cursor=${cursor}`}`);
    entries.push(...page.entries);
    cursor = page.next;
  }
  return entries.reverse();
}

/**
 * Returns two kinds of problems: decisions that are missing, duplicated or different in `recorded`, and decisions in
 * `recorded` that were not shown. Empty: both lists agree.
 */
export function compareDecisions(shown: readonly Row[], recorded: readonly Row[]): readonly string[] {
  const problems = shown.flatMap((row) => {
    const found = recorded.filter(({ requestId }) => requestId === row.requestId);
    if (found.length !== 1) return [`${row.requestId} (${row.tool}) was shown, and is recorded ${found.length} times`];
    return found[0]?.allowed === row.allowed && found[0].code === row.code
      ? []
      : [`${row.requestId} (${row.tool}) is recorded with another decision`];
  });
  const unknown = recorded.filter((row) => !shown.some(({ requestId }) => requestId === row.requestId));
  return [...problems, ...unknown.map(({ requestId, tool }) => `${requestId} (${tool}) is recorded, and was not shown`)];
}
