// Returns the decision on a host's tool name in a given world, without a door. The host's input is read, named and
// decided as at a door.
import type { HostName, Tier } from '@tollgate/proto/contract';
import { bindCaller } from '../../../../sidecar/engine/decide/bind.ts';
import { buildIndex, type Index } from '../../../../sidecar/engine/decide/build-index.ts';
import type { Caller } from '../../../../sidecar/engine/decide/caller.ts';
import { decide } from '../../../../sidecar/engine/decide/decide.ts';
import type { HostCall } from '../../../../proto/hosts/host.ts';
import { hostNamed } from '../../../../proto/hosts/index.ts';
import { ourName } from '../../../../sidecar/doors/coding-agents/names.ts';
import { createCounters } from '../../../../sidecar/engine/limits/counters.ts';
import { createRunUsage } from '../../../../sidecar/engine/limits/usage.ts';
import { verifySnapshot } from '../../../../sidecar/engine/snapshot/verify.ts';
import { snapshotMessage, type World } from '../../../support/snapshots.ts';

export type HostInput = Readonly<Record<string, unknown>>;

export function indexOf(world: World): Index {
  const verified = verifySnapshot(snapshotMessage({ agents: [], ...world }), 'acme');
  if (!verified.ok) throw new Error(`the world is refused: ${JSON.stringify(verified)}`);
  return buildIndex(verified.snapshot);
}

export interface Outcome {
  readonly tool: string;
  readonly also?: string;
  readonly decision: 'allow' | 'deny';
  readonly code: string;
  readonly reason: string;
  readonly rule: unknown;
}

export function readCall(host: HostName, input: HostInput): HostCall | null {
  const event = hostNamed(host)?.read(input, (text) => JSON.parse(text) as unknown);
  return event === undefined || event.phase === 'other' || event.phase === 'unreadable' ? null : event.call;
}

/** Returns the decision on a host's call, under the host's own name for the tool. */
export function outcomeOf(index: Index, host: HostName, input: HostInput): Outcome {
  const call = readCall(host, input);
  if (call === null) throw new Error(`${host} says nothing of a call in ${JSON.stringify(input)}`);
  const caller = callerOf(index, host, call);
  const documents = caller.hops.flatMap((hop) => hop.documents);
  const { tool, also, problem } = ourName({ ...index, documents }, host, call);
  if (problem !== undefined) return { tool, decision: 'deny', code: 'tool_ambiguous', reason: problem, rule: null };
  return { tool, ...(also === undefined ? {} : { also }), ...decidedBy(caller, tool, also) };
}

function callerOf(index: Index, host: HostName, { tier, agent }: Pick<HostCall, 'tier' | 'agent'>): Caller {
  return bindCaller(index, { identity: { sub: 'ann', keyId: 'key-1' }, hops: [{ tier, client: host, agent }] });
}

/** Returns the decision of every other door on a call of this name. */
export const decidedOf = (index: Index, host: HostName, tool: string, tier: Tier = 'interactive'): HookOutcome =>
  decidedBy(callerOf(index, host, { tier, agent: '' }), tool);

type HookOutcome = Omit<Outcome, 'tool' | 'also'>;

function decidedBy(caller: Caller, tool: string, also?: string): HookOutcome {
  const usage = createRunUsage(createCounters(60), { originSub: 'ann', startedAt: 0 });
  const { decision, code, reason, rule } = decide(caller, tool, usage, { connected: true, heardAt: 0 }, 0, also);
  return { decision, code, reason, rule };
}
