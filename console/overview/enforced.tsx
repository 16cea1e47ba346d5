// Warns where nothing is enforced: no policy, only documents in audit mode, or unknown agents that are let through.
import { List } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { read, type Schemas } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { Notice } from '../parts/notice.tsx';

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
    <Notice tone="limit" title="Not everything is enforced">
      <List size="sm" spacing={2}>
        {warnings.map(({ words, see }) => (
          <List.Item key={words}>
            {words} {see !== undefined && <Link to={see.to}>{see.words}</Link>}
          </List.Item>
        ))}
      </List>
    </Notice>
  );
}

interface Warning {
  readonly words: string;
  readonly see?: { readonly to: string; readonly words: string };
}

function warningsOf(policy: Policies, others: readonly object[], hasUnknown: boolean): readonly Warning[] {
  const documents = [policy, ...others].filter((one) => !isEmpty(one));
  if (documents.length === 0) return [{ words: 'There is no policy yet. The built-in default decides every call.' }];
  const warnings: Warning[] = [];
  const inAudit = documents.filter(isAudit).length;
  if (inAudit === documents.length)
    warnings.push({ words: 'Every policy document is in audit mode. Calls are recorded; no rule denies one.' });
  else if (inAudit > 0)
    warnings.push({
      words: `${inAudit} of ${documents.length} policy documents ${inAudit === 1 ? 'is' : 'are'} in audit mode. What they would deny is recorded, and not denied.`,
    });
  if (hasUnknown && policy.unknownAgents !== 'deny')
    warnings.push({
      words: 'Agents that are not registered call tools, and the policy does not deny them (unknownAgents).',
      see: { to: '/agents', words: 'See these agents' },
    });
  return warnings;
}
