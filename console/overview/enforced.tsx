// Warns where nothing is enforced: no policy, only documents in audit mode, or unknown agents that are let through.
import { List } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { read, type Schemas } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { Foreign } from '../parts/foreign.tsx';
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
    [
      { name: 'workspace', policy: workspacePolicy },
      ...named('role', rolePolicies),
      ...named('agent type', agentTypePolicies),
      ...named('user', userPolicies),
    ],
    workspacePolicy.unknownAgents,
    (unknown.data?.agents.length ?? 0) > 0,
  );
  if (warnings.length === 0) return null;
  return (
    <Notice tone="limit" title="Not everything is enforced">
      <List size="sm" spacing={2}>
        {warnings.map(({ words, names, meaning, see }) => (
          <List.Item key={words}>
            {words} {names !== undefined && <Foreign text={`${names}.`} max={300} />} {meaning}{' '}
            {see !== undefined && <Link to={see.to}>{see.words}</Link>}
          </List.Item>
        ))}
      </List>
    </Notice>
  );
}

interface Document {
  /** Such as `role member`. */
  readonly name: string;
  readonly policy: Pick<Policies, 'mode'>;
}

const named = (kind: string, policies: Readonly<Record<string, Document['policy']>>): readonly Document[] =>
  Object.entries(policies).map(([name, policy]) => ({ name: `${kind} ${name}`, policy }));

const namesMax = 3;

/** Such as `role member, user mia and 2 more`. */
function namesOf(documents: readonly Document[]): string {
  const names = documents.slice(0, namesMax).map(({ name }) => name);
  const rest = documents.length - names.length;
  return `${names.join(', ')}${rest === 0 ? '' : ` and ${rest.toLocaleString()} more`}`;
}

interface Warning {
  readonly words: string;
  /** Names of documents, which are text from outside. */
  readonly names?: string;
  readonly meaning?: string;
  readonly see?: { readonly to: string; readonly words: string };
}

function warningsOf(all: readonly Document[], unknownAgents: Policies['unknownAgents'], hasUnknown: boolean): readonly Warning[] {
  const documents = all.filter(({ policy }) => !isEmpty(policy));
  if (documents.length === 0) return [{ words: 'There is no policy yet. The built-in default decides every call.' }];
  const warnings: Warning[] = [];
  const inAudit = documents.filter(({ policy }) => isAudit(policy));
  if (inAudit.length === documents.length)
    warnings.push({ words: 'Every policy document is in audit mode. Calls are recorded; no rule denies one.' });
  else if (inAudit.length > 0)
    warnings.push({
      words: `${inAudit.length} of ${documents.length} policy documents ${inAudit.length === 1 ? 'is' : 'are'} in audit mode:`,
      names: namesOf(inAudit),
      meaning: 'What they would deny is recorded, and not denied.',
      see: { to: '/audit?decision=allow', words: 'Such calls are marked “audit only” in the log' },
    });
  if (hasUnknown && unknownAgents !== 'deny')
    warnings.push({
      words: 'Agents that are not registered call tools, and the policy does not deny them (unknownAgents).',
      see: { to: '/agents', words: 'See these agents' },
    });
  return warnings;
}
