// Builds the snapshot for one run. It contains every agent, document and member of the workspace. It contains at most
// one key: the caller's key. In place of the key's own scopes, it has the scope `govern` if the caller may run agents.
// The caller itself does not need `govern` to start a run: this process, and not the caller, asks for the decisions. An
// agent with `canDelegate` also has the tools `agents.*`. Agents must be registered: an agent that was deleted during
// its run can call nothing.
import type { CompiledAgent, CompiledKey } from '@tollgate/proto/contract';
import { hasScope } from '@tollgate/proto/contract';
import type { Index } from '@tollgate/sidecar/engine/compile';
import type { GovernDeps } from '@tollgate/sidecar/engine';
import type { Actor } from '../../access/rules/actor.ts';
import { agentsServer } from '../../tool-servers/rules/tool-server.ts';

export type Caller = Pick<Actor, 'credential' | 'keyId' | 'sub' | 'uid' | 'role'>;

type Cell = GovernDeps['cell'];

/** The prefix of the tools that are other agents. */
export const agentsPrefix = `${agentsServer}.`;

export function viewOf(cell: Cell, caller: Caller): Cell {
  // Each view is cached for its snapshot, and freed together with this snapshot. Otherwise views would accumulate if
  // many new snapshots arrive while a run waits for an answer.
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

/**
 * Returns the key for the snapshot of the run; null when the caller's credential is no longer valid. The key has no
 * pins, because they are checked when the run begins.
 */
function keyFor(index: Index, { credential, keyId, uid }: Caller): CompiledKey | null {
  const key = index.keysById.get(keyId);
  const until = credential.expiresAt?.getTime() ?? null;
  if (key !== undefined) {
    if (credential.kind === 'key' && key.hash !== credential.hash) return null;
    const mayRun = hasScope(key.scopes, 'agents.write');
    return { ...key, scopes: mayRun ? ['govern'] : [], expiresAt: earlier(key.expiresAt, until), pins: noPins };
  }
  // If the snapshot has no key with this id, the credential can still be the session of a member.
  const member = credential.kind === 'session' && keyId.startsWith('session:') && uid !== null ? index.members.get(uid) : undefined;
  if (member === undefined) return null;
  return { id: keyId, hash: '', scopes: ['govern'], uid: member.uid, role: member.role, expiresAt: until, pins: noPins };
}

const earlier = (a: number | null, b: number | null): number | null => (a === null || b === null ? (a ?? b) : Math.min(a, b));

type Agents = Pick<Index, 'agentsById' | 'agentsByName'>;

// The agents with the additional tools `agents.*`, by snapshot. All runs under one snapshot share them.
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
