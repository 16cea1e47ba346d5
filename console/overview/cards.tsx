// The boxes of the overview: each answers one question and leads to the page that answers it whole.
import { Group, Stack, Table, Text } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { read } from '../api/client.ts';
import { fetchStats, type Stats } from '../api/stats.ts';
import { useSession } from '../app/session.tsx';
import { Card } from '../parts/card.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { Loaded } from '../parts/states.tsx';
import '../parts/tag.css';
import { fromNow } from '../parts/when.tsx';

const refreshMs = 10_000;
const top = 5;

const quiet = (text: string) => (
  <Text size="sm" c="var(--quiet)">
    {text}
  </Text>
);

/**
 * The tools that are denied most, each with its most frequent reason. `denied` is the outcome of the counts above it: calls
 * over a limit, and those that wait for a person, are not in it.
 */
export function Denied({ since }: { readonly since: string }) {
  const { api, workspace } = useSession();
  const tools = useQuery({
    queryKey: ['overview', 'denied', since.slice(0, 13)],
    queryFn: () => fetchStats(api, workspace, { by: 'tool', outcome: 'deny', since, top }),
    refetchInterval: refreshMs,
  });
  const groups = tools.data?.groups ?? [];
  const reasons = useQueries({
    queries: groups.map(({ value: tool }) => ({
      queryKey: ['overview', 'reasons', tool, since.slice(0, 13)],
      refetchInterval: refreshMs,
      queryFn: () => fetchStats(api, workspace, { by: 'reason', outcome: 'deny', tool, since, top: 1 }),
    })),
  });
  const frozen = useQuery({
    queryKey: ['overview', 'frozen', since.slice(0, 13)],
    queryFn: () => fetchStats(api, workspace, { by: 'outcome', reason: 'workspace_frozen', since, top: 1 }),
    refetchInterval: refreshMs,
  });
  const frozenCount = frozen.data?.total ?? 0;
  return (
    <Card title="Most denied tools" more={<Link to={`/audit?${new URLSearchParams({ decision: 'deny', since }).toString()}`}>All</Link>}>
      {quiet(
        `Without calls that were over a limit or asked a person.${
          frozenCount === 0 ? '' : ` ${frozenCount.toLocaleString()} ${frozenCount === 1 ? 'was' : 'were'} denied because of a freeze.`
        }`,
      )}
      <Loaded query={tools} what="Denials could not be counted">
        {() =>
          groups.length === 0 ? (
            quiet('No call was denied in this time.')
          ) : (
            <Table withRowBorders={false} verticalSpacing={4}>
              <Table.Tbody>
                {groups.map(({ value: tool, total }, index) => (
                  <Table.Tr key={tool}>
                    <Table.Td pl={0}>
                      <Link to={`/audit?${new URLSearchParams({ tool, decision: 'deny', since }).toString()}`}>
                        <Foreign text={tool} max={60} />
                      </Link>
                      <Text size="xs" c="var(--quiet)" ff="monospace">
                        {reasonWords(reasons[index]?.data)}
                      </Text>
                    </Table.Td>
                    <Table.Td ta="right" pr={0}>
                      {total.toLocaleString()}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )
        }
      </Loaded>
    </Card>
  );
}

/** The reason, or the most frequent of several. */
function reasonWords(reasons: Stats | undefined): string {
  const [first] = reasons?.groups ?? [];
  if (reasons === undefined || first === undefined) return '\u00a0';
  return reasons.rest.values === 0 ? first.value : `mostly ${first.value}`;
}

const activeMs = 15 * 60_000;
/** The newest are enough: the others are not active. */
const unregisteredMax = 1_000;

export function Active() {
  const { api, workspace } = useSession();
  const agents = useQuery({
    queryKey: ['overview', 'active'],
    queryFn: () => fetchStats(api, workspace, { by: 'agent', since: new Date(Date.now() - activeMs).toISOString(), top }),
    refetchInterval: refreshMs,
  });
  const unregistered = useQuery({
    queryKey: ['overview', 'unregistered'],
    queryFn: async () => {
      const query = { since: new Date(Date.now() - activeMs).toISOString(), limit: unregisteredMax };
      const { agents: found } = await read(api.GET('/{workspace}/admin/unknownAgents', { params: { path: { workspace }, query } }));
      return new Set(found.map(({ name }) => name));
    },
    refetchInterval: refreshMs,
  });
  return (
    <Card title="Active agents" more={<Link to="/agents">All</Link>}>
      <Loaded query={agents} what="Agents could not be counted">
        {({ groups, rest }) => (
          <>
            {groups.length === 0 && quiet('No agent has called a tool in the last 15 minutes.')}
            {groups.map(({ value: agent, total, lastAt }) => (
              <Group key={agent} justify="space-between" wrap="nowrap">
                <Text size="sm" component="div">
                  {agent === '' ? 'no name' : <AgentLink name={agent} />}{' '}
                  {unregistered.data?.has(agent) === true && (
                    <Link to={`/agents?${new URLSearchParams({ search: agent }).toString()}`} className="tag tag-warning">
                      not registered
                    </Link>
                  )}
                </Text>
                <Text size="sm" c="var(--quiet)" flex="none">
                  {total.toLocaleString()} calls, {fromNow(lastAt)}
                </Text>
              </Group>
            ))}
            {rest.values > 0 && <Link to="/agents?period=1h">and {rest.values.toLocaleString()} more</Link>}
          </>
        )}
      </Loaded>
    </Card>
  );
}

/** Its calls in the log: the page of an agent has an id, which counts do not know. */
const AgentLink = ({ name }: { readonly name: string }) => (
  <Link to={`/audit?${new URLSearchParams({ agent: name }).toString()}`}>
    <Foreign text={name} max={60} />
  </Link>
);

export function Pending() {
  const { api, workspace, may } = useSession();
  const { why } = may('admin.approvals');
  const pending = useQuery({
    queryKey: ['overview', 'pending'],
    queryFn: () =>
      read(api.GET('/{workspace}/admin/approvals', { params: { path: { workspace }, query: { state: 'pending', limit: 5 } } })),
    refetchInterval: refreshMs,
    enabled: why === null,
  });
  return (
    <Card title="Waiting for a person" more={<Link to="/approvals">Inbox</Link>}>
      {why !== null ? (
        quiet(why)
      ) : (
        <Loaded query={pending} what="Approvals could not be read">
          {({ approvals, next }) => (
            <>
              {approvals.length === 0 && quiet('No call waits for an approval.')}
              {approvals.map(({ id, call, expiresAt }) => (
                <Group key={id} justify="space-between" wrap="nowrap">
                  <Link to={`/approvals/${id}`}>
                    <Foreign text={call.tool} max={60} />
                  </Link>
                  <Text size="sm" c="var(--quiet)" flex="none">
                    expires {fromNow(expiresAt)}
                  </Text>
                </Group>
              ))}
              {next !== undefined && <Link to="/approvals">and more</Link>}
            </>
          )}
        </Loaded>
      )}
    </Card>
  );
}

const money = (cents: number): string => (cents / 100).toLocaleString(undefined, { style: 'currency', currency: 'USD' });

export function Spend() {
  const { api, workspace } = useSession();
  const spend = useQuery({
    queryKey: ['overview', 'spend'],
    queryFn: () => read(api.GET('/{workspace}/admin/stats/spend', { params: { path: { workspace } } })),
    refetchInterval: refreshMs,
  });
  return (
    <Card title="Spent by runs today">
      <Loaded query={spend} what="Spending could not be read">
        {({ users, capCents }) => (
          <Stack gap={4}>
            {users.length === 0 && quiet('Nothing yet. The control plane counts the cost of the runs that it makes, by the day of UTC.')}
            {users.slice(0, top).map(({ sub, cents }) => (
              <Group key={sub} justify="space-between" wrap="nowrap">
                <Text size="sm" component="div">
                  <Foreign text={sub} max={60} />
                </Text>
                <Text size="sm" flex="none" {...(cents > capCents * 0.8 ? { c: 'var(--outcome-limit)' } : {})}>
                  {money(cents)} of {money(capCents)}
                </Text>
              </Group>
            ))}
          </Stack>
        )}
      </Loaded>
    </Card>
  );
}

export function Redactions({ since }: { readonly since: string }) {
  const { api, workspace } = useSession();
  const kinds = useQuery({
    queryKey: ['overview', 'redactions', since.slice(0, 13)],
    queryFn: () => read(api.GET('/{workspace}/admin/stats/redactions', { params: { path: { workspace }, query: { since, top } } })),
    refetchInterval: refreshMs,
  });
  return (
    <Card title="Values redacted">
      {quiet('In inputs and outputs; one call may have several.')}
      <Loaded query={kinds} what="Redactions could not be counted">
        {({ groups }) => (
          <>
            {groups.length === 0 && quiet('No value was redacted in this time.')}
            {groups.map(({ value: kind, total }) => (
              <Group key={kind} justify="space-between">
                <Text size="sm">{kind.replaceAll('_', ' ')}</Text>
                <Text size="sm">{total.toLocaleString()}</Text>
              </Group>
            ))}
          </>
        )}
      </Loaded>
    </Card>
  );
}
