// The snapshot as one run sees it: every agent, document and member of the workspace, and of its keys the caller's alone, which
// may govern. Whoever may start a run need not have the scope `govern`: it is this process that asks for decisions. An agent
// that `canDelegate` has the tools `agents.*`, and agents must be registered: one that was deleted while it ran calls nothing.
import type { CompiledAgent, CompiledKey } from '@tollgate/proto/contract';
import { hasScope } from '@tollgate/proto/contract';
import type { Index } from '@tollgate/sidecar/decide';
import type { GovernDeps } from '@tollgate/sidecar/embed';
import type { Actor } from '../../domain/access/actor.ts';
import { agentsServer } from '../../domain/tool-servers/tool-server.ts';

export type Caller = Pick<Actor, 'credential' | 'keyId' | 'sub' | 'uid' | 'role'>;

type Cell = GovernDeps['cell'];

/** The tools of other agents begin so. */
export const agentsPrefix = `${agentsServer}.`;

export function viewOf(cell: Cell, caller: Caller): Cell {
  // By the snapshot that it is made of, and gone with it: a run may wait for an answer while many others come.
  const views = new WeakMap<Index, Index>();
  return {
    get current() {
      const { current } = cell;
      if (current === null) return null;
      const made = views.get(current) ?? indexFor(current, caller);
      views.set(current, made);
      return made;
    },
    get freshness() {
      return cell.freshness;
    },
    get refused() {
      return cell.refused;
    },
  };
}

function indexFor(index: Index, caller: Caller): Index {
  const key = keyFor(index, caller);
  return {
    ...index,
    ...delegatorsOf(index),
    settings: { ...index.settings, unknownAgents: 'deny' },
    keysById: new Map(key === null ? [] : [[key.id, key]]),
    keysByHash: new Map(),
  };
}

const noPins: CompiledKey['pins'] = { tier: null, agent: null, client: null };

/** Null where what the caller showed stands no more. What it pins is heeded where the run begins. */
function keyFor(index: Index, { credential, keyId, uid }: Caller): CompiledKey | null {
  const key = index.keysById.get(keyId);
  const until = credential.expiresAt?.getTime() ?? null;
  if (key !== undefined) {
    if (credential.kind === 'key' && key.hash !== credential.hash) return null;
    const mayRun = hasScope(key.scopes, 'agents.write');
    return { ...key, scopes: mayRun ? ['govern'] : [], expiresAt: earlier(key.expiresAt, until), pins: noPins };
  }
  // A session that stands on a member, and on no key.
  const member = credential.kind === 'session' && keyId.startsWith('session:') && uid !== null ? index.members.get(uid) : undefined;
  if (member === undefined) return null;
  return { id: keyId, hash: '', scopes: ['govern'], uid: member.uid, role: member.role, expiresAt: until, pins: noPins };
}

const earlier = (a: number | null, b: number | null): number | null => (a === null || b === null ? (a ?? b) : Math.min(a, b));

type Agents = Pick<Index, 'agentsById' | 'agentsByName'>;

// The same for every run under one snapshot.
const delegators = new WeakMap<Index, Agents>();

function delegatorsOf(index: Index): Agents {
  const known = delegators.get(index);
  if (known !== undefined) return known;
  const agentsById = new Map([...index.agentsById].map(([id, agent]) => [id, withAgents(agent)] as const));
  const byName = (agents: readonly CompiledAgent[]): readonly CompiledAgent[] => agents.flatMap(({ id }) => agentsById.get(id) ?? []);
  const made = { agentsById, agentsByName: new Map([...index.agentsByName].map(([name, agents]) => [name, byName(agents)] as const)) };
  delegators.set(index, made);
  return made;
}

const withAgents = (agent: CompiledAgent): CompiledAgent =>
  agent.canDelegate ? { ...agent, enabledTools: [...agent.enabledTools, `${agentsPrefix}*`] } : agent;
