// Builds the graph of an agent from entries: who delegated to it, to whom it delegates, and which tools it calls. Pure.
import type { Schemas } from '../api/client.ts';
import { type GraphEdge, type GraphNode, nodesMax } from '../parts/graph/graph.tsx';
import { type Outcome, outcomeOf, outcomes, outcomeWords } from '../parts/outcome.tsx';

type Entry = Schemas['AuditEntry'];

export interface Delegation {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** The calls that the graph was built from. */
  readonly calls: number;
  /** How many agents and tools are left out. */
  readonly left: number;
}

type Counts = ReadonlyMap<Outcome, number>;

const toolsMax = 12;
const sumOf = (counts: Counts): number => [...counts.values()].reduce((sum, count) => sum + count, 0);
/** Such as `77 allowed, 5 denied`. One sign would make a tool look forbidden for the few calls that were denied. */
const countsOf = (counts: Counts): string =>
  outcomes
    .flatMap((outcome) => (counts.has(outcome) ? [`${(counts.get(outcome) ?? 0).toLocaleString()} ${outcomeWords[outcome]}`] : []))
    .join(', ');
const callsOf = (count: number): string => `${count.toLocaleString()} ${count === 1 ? 'call' : 'calls'}`;

/** `pageOf`: the page of an agent by its name, if it is registered. */
export function delegationOf(entries: readonly Entry[], agent: string, pageOf: (name: string) => string | undefined): Delegation {
  const agents = new Map<string, number>();
  const links = new Map<string, { from: string; to: string; count: number }>();
  const tools = new Map<string, Counts>();
  let calls = 0;
  for (const entry of entries) {
    if (entry.hookEvent !== 'PreToolUse') continue;
    const chain = entry.chain !== undefined && entry.chain.length > 0 ? entry.chain : [entry.agentName];
    if (!chain.includes(agent)) continue;
    calls += 1;
    for (const [at, name] of chain.entries()) {
      agents.set(name, (agents.get(name) ?? 0) + 1);
      const to = chain[at + 1];
      if (to === undefined) continue;
      const key = JSON.stringify([name, to]);
      const link = links.get(key) ?? { from: name, to, count: 0 };
      links.set(key, { ...link, count: link.count + 1 });
    }
    if (chain.at(-1) !== agent) continue;
    const outcome = outcomeOf(entry);
    const before = tools.get(entry.tool) ?? new Map<Outcome, number>();
    tools.set(entry.tool, new Map([...before, [outcome, (before.get(outcome) ?? 0) + 1]]));
  }
  const shownTools = [...tools].toSorted(([, a], [, b]) => sumOf(b) - sumOf(a)).slice(0, toolsMax);
  const shownAgents = [...agents]
    .toSorted(([a, x], [b, y]) => Number(b === agent) - Number(a === agent) || y - x)
    .slice(0, nodesMax - toolsMax);
  const names = new Set(shownAgents.map(([name]) => name));
  return {
    nodes: [
      ...shownAgents.map(([name, count]): GraphNode => agentNode(name, count, { agent, to: pageOf(name) })),
      ...shownTools.map(([name, counts]): GraphNode => ({ id: toolId(name), kind: 'tool', name, note: countsOf(counts) })),
    ],
    edges: [
      ...[...links.values()]
        .filter(({ from, to }) => names.has(from) && names.has(to))
        .map(({ from, to, count }): GraphEdge => ({ from: agentId(from), to: agentId(to), note: callsOf(count) })),
      ...shownTools.map(([name, counts]): GraphEdge => ({ from: agentId(agent), to: toolId(name), note: countsOf(counts) })),
    ],
    calls,
    left: agents.size - shownAgents.length + tools.size - shownTools.length,
  };
}

const agentId = (name: string): string => `agent ${name}`;
const toolId = (name: string): string => `tool ${name}`;

function agentNode(name: string, count: number, { agent, to }: { readonly agent: string; readonly to: string | undefined }): GraphNode {
  const isHere = name === agent;
  return { id: agentId(name), kind: 'agent', name, note: callsOf(count), isHere, ...(to === undefined || isHere ? {} : { to }) };
}
