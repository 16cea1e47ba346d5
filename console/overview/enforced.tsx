// Warns where nothing is enforced: no policy, only documents in audit mode, or unknown agents that are let through.
import { Alert, List } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { read, type Schemas } from '../api/client.ts';
import { useSession } from '../app/session.tsx';

type Policies = Pick<Schemas['WorkspacePolicy'], 'mode' | 'tools' | 'defaults' | 'unknownAgents'>;

const isEmpty = (document: object): boolean => Object.keys(document).length === 0;
const isAudit = ({ mode }: { readonly mode?: string | undefined }): boolean => mode === 'audit' || mode === 'audit-only';

export function Enforced() {
  const { api, workspace, may } = useSession();
  const isPermitted = may('policies.read', ['owner', 'admin']).why === null;
  const policies = useQuery({
    queryKey: ['overview', 'policies'],
    queryFn: () => read(api.GET('/{workspace}/admin/policies', { params: { path: { workspace } } })),
    refetchInterval: 30_000,
    enabled: isPermitted,
  });
  const unknown = useQuery({
    queryKey: ['overview', 'unknown'],
    queryFn: () => read(api.GET('/{workspace}/admin/unknownAgents', { params: { path: { workspace }, query: { limit: 1 } } })),
    refetchInterval: 30_000,
  });
  if (policies.data === undefined) return null;
  const { workspacePolicy, rolePolicies, agentTypePolicies, userPolicies } = policies.data;
  const warnings = warningsOf(
    workspacePolicy,
    [...Object.values(rolePolicies), ...Object.values(agentTypePolicies), ...Object.values(userPolicies)],
    (unknown.data?.agents.length ?? 0) > 0,
  );
  if (warnings.length === 0) return null;
  return (
    <Alert color="orange" variant="light" title="Not everything is enforced">
      <List size="sm">
        {warnings.map((words) => (
          <List.Item key={words}>{words}</List.Item>
        ))}
      </List>
      {warnings.some((words) => words.startsWith('Unknown')) && <Link to="/agents">See them</Link>}
    </Alert>
  );
}

function warningsOf(policy: Policies, others: readonly object[], hasUnknown: boolean): readonly string[] {
  const documents = [policy, ...others].filter((one) => !isEmpty(one));
  if (documents.length === 0) return ['There is no policy: every call is decided by the default of the control plane.'];
  const warnings: string[] = [];
  if (documents.every(isAudit)) warnings.push('Every document is in audit mode: calls are recorded, and none is denied by a rule.');
  else if (documents.some(isAudit)) warnings.push('Some documents are in audit mode: their rules are recorded, and do not decide.');
  if (hasUnknown && policy.unknownAgents !== 'deny')
    warnings.push('Unknown agents have called tools, and the workspace lets unknown agents through (unknownAgents is not deny).');
  return warnings;
}
