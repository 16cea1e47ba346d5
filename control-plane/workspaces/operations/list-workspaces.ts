// Lists all workspaces. This is for the operator, who is not a member of any workspace.
import { isSlug } from '@tollgate/proto/contract';
import type { OperationDeps } from '../../access/operation.ts';
import { cursorOfText, oneMore, pageOf, type PageWanted, textInCursor } from '../../base/page.ts';
import { listWorkspacesAfter, type Workspace } from '../store/workspaces.ts';

interface WorkspacePage {
  readonly workspaces: readonly Workspace[];
  /** Absent on the last page. */
  readonly next?: string;
}

/** Lists the workspaces by their slug. The position is a slug. */
export async function listWorkspaces({ pool }: Pick<OperationDeps, 'pool'>, { limit, after }: PageWanted<string>): Promise<WorkspacePage> {
  const found = await listWorkspacesAfter(pool, { limit: oneMore(limit), after });
  const { items, ...rest } = pageOf(found, limit, ({ slug }) => cursorOfText(slug));
  return { workspaces: items, ...rest };
}

export const parseWorkspaceCursor = (cursor: string): string | null => textInCursor(cursor, isSlug);
