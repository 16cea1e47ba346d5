// Reads what becomes of the calls of one subject by one agent: each tool that is known, in each tier. The tools are those of
// tool servers, those that documents and agents name, and those that were called in the last 30 days, by the counts.
import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { agentTypeKey, documentKey, type Tier, tiers } from '@tollgate/proto/contract';
import { createExplainer, documentIdsFor } from '@tollgate/sidecar/engine/compile';
import { type OperationDeps, readOperation } from '../../access/operation.ts';
import { refusalFor, requireAccessTo } from '../../access/rules/access.ts';
import type { Actor } from '../../access/rules/actor.ts';
import { accepted, badRequest, unauthenticated } from '../../base/refusal.ts';
import { downTo } from '../../statistics/rules/range.ts';
import { listCalledTools } from '../../statistics/store/read-counts.ts';
import { listToolServers } from '../../tool-servers/store/tool-servers.ts';
import type { WorkspaceState } from '../../workspaces/rules.ts';
import { readWorkspaceState } from '../../workspaces/store/workspace-state.ts';
import {
  type CallingAgent,
  cellOf,
  cursorOf,
  type EffectiveCell,
  type EffectiveParameters,
  type EffectiveQuery,
  parseEffectiveQuery,
  toolsNamedIn,
} from '../rules/effective.ts';
import { readAhead } from './read-ahead.ts';

/** Tools that were called within this time are known. */
const calledMs = 30 * 24 * 3_600_000;
/** The client of a registered agent, for which the caller gave none. `tollgate explain` assumes the same. */
const ownClient = 'tollgate';
/** Other requests get their turn after this time. */
const turnMs = 10;

interface EffectiveTool {
  readonly tool: string;
  readonly cells: Readonly<Record<Tier, EffectiveCell>>;
}

export const readEffective = readOperation('policy.explain', async (deps, actor, parameters: EffectiveParameters) => {
  const query = accepted(parseEffectiveQuery(parameters));
  const { subject, limit } = query;
  if ('sub' in subject && subject.sub !== actor.sub) requireAccessTo(actor, 'policy.explain', subject.sub);
  const state = await readWorkspaceState(deps.readingPool, actor.workspaceId);
  if (state === null) throw unauthenticated('the workspace of this key no longer exists');
  const caller = callerOf(state, query.agent);
  const explainers = await explainersOf(deps, state, query, caller);
  const following = await toolsAfter(deps, actor, state, { query, name: caller.name });
  const tools: EffectiveTool[] = [];
  let turnEnds = performance.now() + turnMs;
  for (const tool of following.slice(0, limit)) {
    tools.push({ tool, cells: explainers(tool) });
    if (performance.now() < turnEnds) continue;
    await setImmediate();
    turnEnds = performance.now() + turnMs;
  }
  const last = tools.at(-1);
  return {
    subject: {
      sub: 'sub' in subject ? subject.sub : null,
      role: 'role' in subject ? subject.role : null,
      client: caller.client,
      agent: caller.name,
    },
    tiers: [...tiers],
    tools,
    ...(last !== undefined && following.length > tools.length ? { next: cursorOf(last.tool) } : {}),
  };
});

interface Caller {
  readonly client: string;
  readonly name: string;
}

function callerOf({ agents }: WorkspaceState, agent: CallingAgent): Caller {
  if (agent.kind === 'typed') return agent;
  const found = agents.find(({ id }) => id === agent.nameOrId) ?? agents.find(({ name }) => name === agent.nameOrId);
  if (found === undefined) throw badRequest('agent must be the name or id of a registered agent; use agentType for any other');
  return { client: ownClient, name: found.name };
}

const typeOf = ({ client, name }: Caller, tier: Tier): string => agentTypeKey({ client, tier, name });

/** Returns a function that explains the calls of a tool in all tiers. */
async function explainersOf({ defaults }: OperationDeps, state: WorkspaceState, { subject }: EffectiveQuery, caller: Caller) {
  await readAhead(state.documents.map(({ document }) => document));
  const explainers = tiers.map((tier) => {
    const explain = createExplainer(state, defaults, { ...subject, agentType: typeOf(caller, tier), tier });
    if (explain === null) throw badRequest('sub must be a member or service key of this workspace; use role instead');
    return { tier, explain };
  });
  return (tool: string) =>
    Object.fromEntries(explainers.map(({ tier, explain }) => [tier, cellOf(explain(tool))])) as Record<Tier, EffectiveCell>;
}

/**
 * Returns the known tools of a page and at least one after it, sorted by their UTF-8 bytes, as the database sorts.
 * Documents of other subjects are left out, and so are calls if the actor may not read the audit log: they would show what
 * others use.
 */
async function toolsAfter(
  { readingPool, clock }: OperationDeps,
  actor: Actor,
  state: WorkspaceState,
  { query, name }: { readonly query: EffectiveQuery; readonly name: string },
): Promise<readonly string[]> {
  const { subject, agent, after, limit } = query;
  const role = 'role' in subject ? subject.role : state.members.find(({ uid }) => uid === subject.sub)?.role;
  const uid = 'sub' in subject && !subject.sub.startsWith('apikey:') ? subject.sub : null;
  const client = agent.kind === 'typed' ? agent.client : ownClient;
  const keys = new Set(
    tiers.flatMap((tier) => documentIdsFor({ role: role ?? 'member', uid }, typeOf({ client, name }, tier)).map(documentKey)),
  );
  const servers = await listToolServers(readingPool, actor.workspaceId);
  const since = downTo(new Date(clock().getTime() - calledMs), 'day');
  const called =
    refusalFor(actor, 'audit.read') === null
      ? await listCalledTools(readingPool, actor.workspaceId, { since, after, limit: limit + 1 })
      : [];
  const named = toolsNamedIn(
    state.documents.filter(({ id }) => keys.has(documentKey(id))).map(({ document }) => document),
    state.agents.filter((one) => one.name === name).flatMap(({ enabledTools }) => enabledTools),
  );
  const ofServers = servers.flatMap((server) => server.tools.map((tool) => `${server.name}.${tool.name}`));
  const known = [...new Set([...ofServers, ...named, ...called])].map((tool) => ({ tool, bytes: Buffer.from(tool) }));
  const from = Buffer.from(after ?? '');
  return known
    .filter(({ bytes }) => Buffer.compare(bytes, from) > 0)
    .toSorted((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ tool }) => tool);
}
