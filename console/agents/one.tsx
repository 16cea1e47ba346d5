// One agent: what it is, what it may do, whom it works with, and what was denied to it.
import { Anchor, Box, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useEffect, useMemo } from 'react';
import { Link, useParams } from 'react-router';
import { useNamedAgents } from '../app/names.ts';
import { useSession } from '../app/session.tsx';
import { Back } from '../parts/back.tsx';
import { Fact, Facts } from '../parts/facts.tsx';
import { Foreign, ForeignBlock, visible } from '../parts/foreign.tsx';
import { Graph } from '../parts/graph/graph.tsx';
import { outcomeColour, outcomeOf, outcomes, OutcomeWord } from '../parts/outcome.tsx';
import '../parts/rows.css';
import { Section } from '../parts/section.tsx';
import { Loaded } from '../parts/states.tsx';
import { Tag } from '../parts/tag.tsx';
import { When } from '../parts/when.tsx';
import './agents.css';
import { type Agent, money, useAgent, useChains, useCountsOf, useDenials, useSpend } from './data.ts';
import { delegationOf } from './delegation.ts';
import { Matrix } from './matrix.tsx';
import { ClientChoice, SubjectChoice, useClient, useSubject } from './subject.tsx';
import { Suspend } from './suspend.tsx';
import { AgentState } from './words.tsx';

export function Page() {
  const { id = '' } = useParams();
  const agent = useAgent(id);
  const name = agent.data?.name;
  useEffect(() => {
    document.title = `${name === undefined ? 'Agent' : visible(name).slice(0, 60)} · Agents · Tollgate`;
  }, [name]);
  return (
    <Stack gap="md">
      <Back to="/agents" list="Agents" />
      <Loaded query={agent} what="The agent could not be read" height={480}>
        {(data) => <Shown agent={data} key={data.id} />}
      </Loaded>
    </Stack>
  );
}

function Shown({ agent }: { readonly agent: Agent }) {
  const { may } = useSession();
  const subject = useSubject();
  const client = useClient();
  const { why } = may('admin.audit.read');
  return (
    <>
      <Group justify="space-between" align="start">
        <Box miw={0} className="alone">
          <Title order={1} size="h3">
            <Foreign text={agent.name} max={120} />
          </Title>
          <Group gap={8} mt={4}>
            <Text size="sm" span>
              <AgentState isSuspended={agent.suspended} />
            </Text>
            {agent.description !== '' && (
              <Text size="sm" c="var(--quiet)">
                <Foreign text={agent.description} max={400} />
              </Text>
            )}
          </Group>
        </Box>
        <Suspend agent={agent} />
      </Group>
      {why === null ? (
        <Outcomes agent={agent} />
      ) : (
        <Text size="sm" c="var(--quiet)">
          Its calls are not shown. {why}
        </Text>
      )}
      <div className="agent-columns">
        <Stack gap="md" miw={0}>
          <Section
            title="What it may do"
            side={
              <Group gap="xs" align="end">
                <SubjectChoice subject={subject} />
                <ClientChoice agent={agent.name} client={client} key={client} />
              </Group>
            }
          >
            <Matrix agent={agent} subject={subject} client={client} />
          </Section>
          {why === null && <Delegations agent={agent} />}
          {why === null && <Denials agent={agent} />}
        </Stack>
        <Profile agent={agent} />
      </div>
    </>
  );
}

/** How its calls of the last day ended. */
function Outcomes({ agent }: { readonly agent: Agent }) {
  const counts = useCountsOf(agent.name, 'outcome', '24h');
  const spend = useSpend();
  return (
    <Loaded query={counts} what="Its calls could not be counted" height={64}>
      {({ groups, total }) => (
        <dl className="agent-figures">
          <div>
            <dt>Calls in 24 hours</dt>
            <dd>{total.toLocaleString()}</dd>
          </div>
          {outcomes.map((outcome) => {
            const count = groups.find(({ value }) => value === outcome)?.total ?? 0;
            return (
              <div key={outcome}>
                <dt>
                  <OutcomeWord outcome={outcome} />
                </dt>
                <dd style={{ color: count === 0 ? 'var(--quiet)' : outcomeColour(outcome) }}>{count.toLocaleString()}</dd>
              </div>
            );
          })}
          <div>
            <dt>Cost today</dt>
            <dd>{spend.data === undefined ? '–' : money(spend.data.get(agent.id) ?? 0)}</dd>
          </div>
        </dl>
      )}
    </Loaded>
  );
}

const minuteMs = 60_000;

function Profile({ agent }: { readonly agent: Agent }) {
  return (
    <Stack gap="md" miw={0}>
      <Section title="Profile">
        <Facts>
          <Fact name="Model">
            <Foreign text={agent.model} max={120} />
          </Fact>
          <Fact name="Id">
            <Foreign text={agent.id} />
          </Fact>
          <Fact name="Tools">
            {agent.enabledTools.length === 0 ? (
              'none, so every call is denied'
            ) : (
              <Group gap="0 10px" className="alone">
                {agent.enabledTools.slice(0, 100).map((tool, at) => (
                  <Foreign key={at} text={tool} max={80} />
                ))}
                {agent.enabledTools.length > 100 && <>and {agent.enabledTools.length - 100} more</>}
              </Group>
            )}
          </Fact>
          {agent.scopes.length > 0 && (
            <Fact name="Scopes">
              <Foreign text={agent.scopes.join(', ')} max={400} />
            </Fact>
          )}
          <Fact name="Delegates">{agent.canDelegate ? 'yes, to other agents' : 'no'}</Fact>
          <Fact name="Takes work">{agent.delegatable ? 'yes, from other agents' : 'no'}</Fact>
          <Fact name="Registered">
            <When at={agent.createdAt} hasDate />
          </Fact>
          <Fact name="Changed">
            <When at={agent.updatedAt} hasDate />
          </Fact>
        </Facts>
      </Section>
      <Section title="Caps of one run">
        <Facts>
          <Fact name="Tool calls">{agent.maxToolCalls.toLocaleString()}</Fact>
          <Fact name="Rounds">{agent.maxToolRounds.toLocaleString()}</Fact>
          <Fact name="Spend">{money(agent.maxBudgetCents)}</Fact>
          <Fact name="Time">{(agent.maxDurationMs / minuteMs).toLocaleString()} min</Fact>
          <Fact name="Depth">{agent.maxDelegationDepth ?? 'no limit of its own'}</Fact>
        </Facts>
      </Section>
      <Section title="Instructions">
        <ForeignBlock text={agent.systemPrompt} by="System prompt, as registered" first={600} />
      </Section>
    </Stack>
  );
}

function Delegations({ agent }: { readonly agent: Agent }) {
  const chains = useChains(agent.name, '7d');
  const names = useNamedAgents();
  const graph = useMemo(() => {
    const byName = new Map(names.data?.map(({ name, id }) => [name, `/agents/${id}`]));
    return chains.data === undefined || names.isPending ? null : delegationOf(chains.data, agent.name, (name) => byName.get(name));
  }, [chains.data, names.data, names.isPending, agent.name]);
  return (
    <Section
      title="Who works with it"
      side={
        graph !== null && (
          <Text size="xs" c="var(--quiet)">
            from {graph.calls.toLocaleString()} calls of the last 7 days
          </Text>
        )
      }
    >
      <Loaded query={chains} what="Its calls could not be read" height={260}>
        {() =>
          graph === null ? (
            <Skeleton height={260} />
          ) : graph.calls === 0 ? (
            <Text size="sm">It has made no call in 7 days.</Text>
          ) : (
            <>
              <Graph nodes={graph.nodes} edges={graph.edges} label="Who delegates to whom, and the tools that are called" />
              {graph.left > 0 && (
                <Text size="xs" c="var(--quiet)">
                  {graph.left} with fewer calls are left out.
                </Text>
              )}
            </>
          )
        }
      </Loaded>
    </Section>
  );
}

function Denials({ agent }: { readonly agent: Agent }) {
  const denials = useDenials(agent.name, '7d');
  return (
    <Section
      title="Newest denials"
      side={
        <Anchor component={Link} size="sm" to={`/audit?agent=${encodeURIComponent(agent.name)}&decision=deny&last=7d`}>
          All in the log
        </Anchor>
      }
    >
      <Loaded query={denials} what="Its denials could not be read" height={160}>
        {({ entries }) =>
          entries.length === 0 ? (
            <Text size="sm">None in 7 days.</Text>
          ) : (
            <table className="rows rows-inside">
              <caption className="only-read">The newest denials of the agent</caption>
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">Outcome</th>
                  <th scope="col">Tool</th>
                  <th scope="col">Reason</th>
                </tr>
              </thead>
              <tbody>
                {entries.map((entry) => {
                  const outcome = outcomeOf(entry);
                  return (
                    <tr key={entry.id}>
                      <td data-label="When">
                        <When at={entry.ts} hasDate />
                      </td>
                      <td data-label="Outcome">
                        <Anchor
                          component={Link}
                          to={`/calls/${encodeURIComponent(entry.requestId)}?at=${encodeURIComponent(entry.ts)}`}
                          size="sm"
                          aria-label={`The call: ${outcome}`}
                        >
                          <OutcomeWord outcome={outcome} />
                        </Anchor>
                      </td>
                      <td data-label="Tool">
                        <Foreign text={entry.tool} max={60} />
                        {entry.hookEvent === 'PostToolUse' && <Tag>output</Tag>}
                      </td>
                      <td data-label="Reason" className="rows-wide">
                        <Text size="xs" component="div">
                          <Foreign text={entry.decisionReason} max={200} />
                        </Text>
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          )
        }
      </Loaded>
    </Section>
  );
}
