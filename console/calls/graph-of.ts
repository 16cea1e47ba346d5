// Who handed work to whom in the session of a call, as a graph: the person, the agents below each other, and the tools
// that each agent called. Pure.
import type { Outcome } from '../parts/outcome.tsx';
import type { CallAnswer, SessionCall } from './answer.ts';
import { whoOf } from '../parts/call-row.ts';

export interface ToolCalls {
  readonly tool: string;
  readonly outcome: Outcome;
  readonly count: number;
  /** The newest of them, to be opened. */
  readonly newest: Pick<SessionCall, 'requestId' | 'ts'>;
  /** Whether the call of this page is one of them. */
  readonly isHere: boolean;
}

export interface AgentNode {
  readonly name: string;
  readonly isHere: boolean;
  readonly tools: readonly ToolCalls[];
  readonly below: readonly AgentNode[];
}

export interface SessionGraph {
  readonly person: string;
  readonly agents: readonly AgentNode[];
  /** Of agents and tools. */
  readonly nodes: number;
}

interface Growing {
  readonly name: string;
  isHere: boolean;
  readonly tools: Map<string, ToolCalls>;
  readonly below: Map<string, Growing>;
}

export function graphOf({ requestId, before, after, session }: CallAnswer): SessionGraph {
  const entry = before ?? after;
  const root: Growing = growing('');
  for (const call of session?.calls ?? []) add(root, call, call.requestId === requestId);
  const agents = settled(root).below;
  return { person: entry === null ? '' : whoOf(entry), agents, nodes: countOf(agents) };
}

const growing = (name: string): Growing => ({ name, isHere: false, tools: new Map(), below: new Map() });

function add(root: Growing, call: SessionCall, isHere: boolean): void {
  let at = root;
  for (const name of call.chain.length > 0 ? call.chain : [call.agent]) {
    const next = at.below.get(name) ?? growing(name);
    at.below.set(name, next);
    next.isHere ||= isHere;
    at = next;
  }
  const key = JSON.stringify([call.tool, call.outcome]);
  const known = at.tools.get(key);
  const isNewer = known === undefined || isHere || (!known.isHere && Date.parse(call.ts) > Date.parse(known.newest.ts));
  at.tools.set(key, {
    tool: call.tool,
    outcome: call.outcome,
    count: (known?.count ?? 0) + 1,
    newest: isNewer ? { requestId: call.requestId, ts: call.ts } : known.newest,
    isHere: isHere || known?.isHere === true,
  });
}

const settled = ({ name, isHere, tools, below }: Growing): AgentNode => ({
  name,
  isHere,
  tools: [...tools.values()],
  below: [...below.values()].map(settled),
});

const countOf = (agents: readonly AgentNode[]): number =>
  agents.reduce((sum, { tools, below }) => sum + 1 + tools.length + countOf(below), 0);
