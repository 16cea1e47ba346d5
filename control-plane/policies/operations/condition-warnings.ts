import { hasScope } from '@tollgate/proto/contract';
import type { JsonSchema } from '@tollgate/proto/shape';
import type { Write } from '../../access/operation.ts';
import { listStandingKeys } from '../../access/store/keys.ts';
import { listChannelNames } from '../../channels/store/channels.ts';
import { listMembers } from '../../access/store/members.ts';
import { listInputSchemas } from '../../tool-servers/store/tool-servers.ts';
import { conditionWarnings, type ConditionWarning, dependsOnPins, toolKeysOf, writtenCases } from '../rules/condition-warnings.ts';
import { askWarnings, channelWarnings, writtenAsks } from '../rules/ask-warnings.ts';
import type { DocumentChange } from '../rules/policy-diff.ts';

/** For the answer to a write: warnings about the cases and the questions that it wrote. */
export async function warningsOf(
  { client, workspaceId, now }: Pick<Write, 'client' | 'workspaceId' | 'now'>,
  changes: readonly DocumentChange[],
): Promise<{ readonly warnings?: readonly ConditionWarning[] }> {
  const cases = writtenCases(changes);
  const keys = toolKeysOf(cases);
  const known = keys.length === 0 ? noSchemas : await listInputSchemas(client, workspaceId, keys);
  const standing = dependsOnPins(cases) ? await listStandingKeys(client, workspaceId) : [];
  const callers = standing.filter(({ scopes, expiresAt }) => hasScope(scopes, 'govern') && (expiresAt === null || expiresAt > now));
  const asks = writtenAsks(changes);
  const members = asks.length === 0 ? [] : await listMembers(client, workspaceId);
  const channels = asks.length === 0 ? [] : await listChannelNames(client, workspaceId);
  const warnings = [
    ...conditionWarnings(cases, { ...known, pins: callers.map(({ pins }) => pins) }),
    ...askWarnings(asks, members),
    ...channelWarnings(asks, channels),
  ];
  return warnings.length > 0 ? { warnings } : {};
}

const noSchemas = { schemas: new Map<string, JsonSchema>(), isComplete: true };
