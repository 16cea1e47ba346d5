// The code under test: documents are compiled, verified and indexed, and every call is decided and counted, as in the
// programs. Only this file knows the names of our modules. It gives the tests the terms of the reference.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { policyService } from '@tollgate/proto';
import {
  type AskingRule,
  type CompiledDocument,
  type DocumentId,
  hashKey,
  loweredDocument,
  policyNeeds,
  snapshotHash,
  snapshotSchemaVersion,
} from '@tollgate/proto/contract';
import { compileSnapshot, type SnapshotEntry } from '../../sidecar/engine/compile/compile.ts';
import type { WorkspaceState } from '../../control-plane/workspaces/rules.ts';
import { checkDocument, type DocumentKind } from '../../sidecar/engine/compile/policy-document.ts';
import { Undecided } from '../../sidecar/engine/conditions/values.ts';
import { holdWorkspace } from '../../control-plane/publish/holding.ts';
import { viewPartsOf } from '../../control-plane/publish/view-parts.ts';
import { bindCaller } from '../../sidecar/engine/decide/bind.ts';
import { buildIndex, type Index } from '../../sidecar/engine/decide/build-index.ts';
import type { Caller } from '../../sidecar/engine/decide/caller.ts';
import { decide } from '../../sidecar/engine/decide/decide.ts';
import type { Decision } from '../../sidecar/engine/decide/decision.ts';
import type { CallFacts } from '../../sidecar/engine/decide/cases.ts';
import { callerText, entryText } from '../../sidecar/engine/govern/audit-entry.ts';
import { offersTo } from '../../sidecar/engine/govern/offers.ts';
import { createCounters } from '../../sidecar/engine/limits/counters.ts';
import { createRunUsage, type RunUsage } from '../../sidecar/engine/limits/usage.ts';
import { createPolicyCell } from '../../sidecar/engine/snapshot/cell.ts';
import { readSnapshotFile, writeSnapshotFile } from '../../sidecar/engine/snapshot/disk.ts';
import { type SnapshotMessage, verifySnapshot } from '../../sidecar/engine/snapshot/verify.ts';
import { type Call, type Document, hidden, type LimitSeen, type Outcome, type World } from './world.ts';

/** The functions that a mutant replaces. */
export interface Core {
  readonly buildIndex: typeof buildIndex;
  readonly bindCaller: typeof bindCaller;
  readonly decide: typeof decide;
  readonly createCounters: typeof createCounters;
  readonly createRunUsage: typeof createRunUsage;
  readonly Undecided: typeof Undecided;
}

const core: Core = { buildIndex, bindCaller, decide, createCounters, createRunUsage, Undecided };

const workspace = 'acme';

// === World → snapshot

const timeless = new Date(0);

export function stateOf(world: World): WorkspaceState {
  const layer = (id: DocumentId, document: Document | null): WorkspaceState['documents'] => (document === null ? [] : [{ id, document }]);
  return {
    workspace,
    workspaceId: '0'.repeat(32),
    epoch: 'epoch',
    revision: 1,
    frozen: world.frozen,
    documents: [
      ...layer({ layer: 'workspace' }, world.workspace),
      ...world.roles.flatMap(([role, document]) => layer({ layer: 'role', role }, document)),
      ...world.agentTypes.flatMap(([agentType, document]) => layer({ layer: 'agent-type', agentType }, document)),
      ...world.users.flatMap(({ uid, organisation, self }) => [
        ...layer({ layer: 'user', uid, part: 'organisation' }, organisation),
        ...layer({ layer: 'user', uid, part: 'self' }, self),
      ]),
    ],
    agents: world.agents.map((agent) => ({
      ...agent,
      model: '',
      systemPrompt: '',
      description: '',
      icon: '',
      createdAt: timeless,
      updatedAt: timeless,
    })),
    members: world.members,
    keys: world.keys.map((key) => ({ ...key, hash: hashKey(key.id), expiresAt: null })),
    servers: world.servers.map((server) => ({ ...server, target: null, admitted: [], definition: '' })),
  };
}

/**
 * Returns every problem that the control plane would find in the world's documents. Empty if the generators are
 * correct.
 */
export function problemsOf(world: World): readonly string[] {
  const check = (kind: DocumentKind, part: 'organisation' | 'self', document: unknown): readonly string[] =>
    document === null ? [] : checkDocument(kind, part, document).map(({ path, message }) => `${kind} ${path} ${message}`);
  return [
    ...check('workspace', 'organisation', world.workspace),
    ...world.roles.flatMap(([, document]) => check('role', 'organisation', document)),
    ...world.agentTypes.flatMap(([, document]) => check('agent-type', 'organisation', document)),
    ...world.users.flatMap(({ organisation, self }) => [...check('user', 'organisation', organisation), ...check('user', 'self', self)]),
  ];
}

export const entriesOf = (world: World): readonly SnapshotEntry[] => compileSnapshot(stateOf(world), world);

export const messageOf = (world: World, number = 1): SnapshotMessage => messageFrom(entriesOf(world), number);

function messageFrom(entries: readonly SnapshotEntry[], number: number): SnapshotMessage {
  return { revision: { epoch: 'epoch', number }, workspace, schemaVersion: snapshotSchemaVersion, hash: snapshotHash(entries), entries };
}

/** Returns what a library inside an agent with this key holds. */
export function libraryMessageOf(world: World, keyId: string): SnapshotMessage {
  const holding = holdWorkspace({ kind: 'whole', state: stateOf(world), touchedSince: 1, touched: [] }, world);
  return messageFrom(viewPartsOf(holding, { form: 'library', keyId }).entries(), 1);
}

/** Returns what a sidecar receives that lacks these capabilities. */
export const loweredMessageOf = (world: World, ...lacks: readonly string[]): SnapshotMessage =>
  messageFrom(
    entriesOf(world).map(({ key, value }) => {
      if (!key.startsWith('document/')) return { key, value };
      const document: CompiledDocument = JSON.parse(value.toString());
      return { key, value: Buffer.from(JSON.stringify(loweredDocument(document, new Set(lacks), policyNeeds))) };
    }),
    1,
  );

/** Encodes and decodes the message as gRPC does. */
export function throughWire(message: SnapshotMessage): SnapshotMessage {
  const bytes = policyService.Sync.responseSerialize({ snapshot: { ...message, entries: [...message.entries] } });
  const { snapshot } = policyService.Sync.responseDeserialize(bytes);
  if (snapshot == null) throw new Error('the snapshot was lost on the wire');
  return snapshot;
}

/** Writes the message to disk and reads it back. */
export async function throughDisk(message: SnapshotMessage): Promise<SnapshotMessage> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-semantics-'));
  try {
    const path = join(folder, 'snapshot');
    await writeSnapshotFile(path, message);
    const stored = await readSnapshotFile(path);
    if (stored === null) throw new Error('the snapshot was lost on disk');
    return stored.message;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns the index of the last of several snapshots that one sidecar receives in turn. */
export function indexAfter(...messages: readonly SnapshotMessage[]): Index {
  const cell = createPolicyCell({ now: () => 0 }, workspace);
  for (const message of messages) {
    const offered = cell.offer(message);
    if (!offered.ok) throw new Error(`a good snapshot was refused: ${offered.code}: ${offered.message}`);
  }
  if (cell.current === null) throw new Error('no snapshot was offered');
  return cell.current;
}

/** Returns the index of a sidecar that holds one world and receives the changes that lead to another. */
export function indexByDelta(from: World, to: World): Index {
  const [held, wanted] = [entriesOf(from), entriesOf(to)];
  const cell = createPolicyCell({ now: () => 0 }, workspace);
  const values = new Map(held.map(({ key, value }) => [key, value]));
  const keys = new Set(wanted.map(({ key }) => key));
  const offered = [
    cell.offer(messageFrom(held, 1)),
    cell.change({
      workspace,
      schemaVersion: snapshotSchemaVersion,
      hash: snapshotHash(wanted),
      from: { epoch: 'epoch', number: 1 },
      to: { epoch: 'epoch', number: 2 },
      changed: wanted.filter(({ key, value }) => values.get(key)?.equals(value) !== true),
      removed: [...values.keys()].filter((key) => !keys.has(key)),
    }),
  ];
  for (const result of offered) if (!result.ok) throw new Error(`a good delta was refused: ${result.code}: ${result.message}`);
  if (cell.current === null) throw new Error('no snapshot is held');
  return cell.current;
}

// === Deciding

export function decideCalls(world: World, calls: readonly Call[], from: Core = core): Outcome[] {
  return decideFrom(messageOf(world), world, calls, from);
}

export function decideFrom(message: SnapshotMessage, world: World, calls: readonly Call[], from: Core = core): Outcome[] {
  return decideBy(verifiedIndex(message, from), world, calls, from);
}

function verifiedIndex(message: SnapshotMessage, from: Core): Index {
  const verified = verifySnapshot(message, workspace);
  if (!verified.ok) throw new Error(`a good snapshot was refused: ${verified.code}: ${verified.message}`);
  return from.buildIndex(verified.snapshot);
}

export const decideBy = (index: Index, world: World, calls: readonly Call[], from: Core = core): Outcome[] =>
  decideAll(index, world, calls, from).map(({ decision }) => outcomeOf(decision));

/**
 * Decides each call as the first of its run and its window. The calls are far enough apart that no counter carries
 * over. Without a message, the world is compiled once, however often its calls are decided.
 */
export function decideAlone(world: World, made: readonly Call[], message?: SnapshotMessage): Outcome[] {
  const calls = made.map((call, i) => ({ ...call, at: call.at + i * 10_000_000, run: String(i) }));
  return message === undefined ? decideBy(indexOf(world), world, calls) : decideFrom(message, world, calls);
}

const indexes = new WeakMap<World, Index>();

function indexOf(world: World): Index {
  const known = indexes.get(world) ?? verifiedIndex(messageOf(world), core);
  indexes.set(world, known);
  return known;
}

interface DecidedCase {
  readonly call: Call;
  readonly caller: Caller;
  readonly decision: Decision;
}

function decideAll(index: Index, world: World, calls: readonly Call[], from: Core): DecidedCase[] {
  const counters = from.createCounters(world.windowSeconds);
  const runs = new Map<string, RunUsage>();
  return calls.map((call) => {
    const usage = runs.get(call.run) ?? from.createRunUsage(counters, { originSub: call.sub, startedAt: call.at });
    runs.set(call.run, usage);
    for (let round = 0; round < (call.rounds ?? 0); round++) usage.addRound();
    if (call.spendCents !== undefined) usage.addCost(call.spendCents);
    const caller = from.bindCaller(index, { identity: { sub: call.sub, keyId: call.keyId }, hops: call.hops });
    const freshness = { connected: call.silentForMs === undefined, heardAt: call.at - (call.silentForMs ?? 0) };
    const facts = factsOf(call, from);
    const decideIt = (): Decision => from.decide(caller, call.tool, usage, freshness, call.at, undefined, facts);
    if (call.approved !== undefined) facts.approved = approvedBy(call, decideIt());
    const decision = decideIt();
    usage.record(decision, call.at);
    return { call, caller, decision };
  });
}

function factsOf(call: Call, from: Core): CallFacts {
  const { input = {}, at } = call;
  const shown = Object.entries(input).map(([name, value]) => [
    name,
    value === hidden ? new from.Undecided('hidden', `args.${name}`) : value,
  ]);
  return { args: Object.fromEntries(shown), wallTime: at, caseAnswers: null, approved: call.approved === undefined ? null : [] };
}

const placeOfAsk = ({ document, path }: Pick<AskingRule, 'document' | 'path'>): string => `${document} ${path}`;

/** Returns what a claimed approval covers: the rules that ask now, or all of them but one. */
function approvedBy({ approved }: Call, { asks }: Decision): readonly string[] {
  const sorted = (asks ?? []).toSorted((a, b) => (placeOfAsk(a) < placeOfAsk(b) ? -1 : 1)).map(({ digest }) => digest);
  return approved === 'all' ? sorted : sorted.slice(0, -1);
}

/** Returns whether a list of tools shows the tool of each call to its caller. */
export function showTools(world: World, calls: readonly Call[]): readonly boolean[] {
  const index = indexAfter(messageOf(world));
  return calls.map(({ sub, keyId, hops, tool }) => offersTo(bindCaller(index, { identity: { sub, keyId }, hops }), tool));
}

function outcomeOf({
  decision,
  code,
  transform,
  storedTransform,
  rule,
  shadow,
  stop,
  retryAfterMs,
  outage,
  attempt,
  limits,
  asks,
}: Decision): Outcome {
  return {
    decision,
    code,
    transform,
    storedTransform,
    rule:
      rule === null
        ? null
        : { layer: rule.layer, ...(rule.part && { part: rule.part }), path: rule.path, ...(rule.override && { override: true }) },
    shadow: shadow === null ? null : { decision: shadow.decision, code: shadow.code, transform: shadow.transform },
    stop,
    retryAfterMs,
    outage,
    attempt,
    limits: limits.limits.map(({ layer, part, path, max }): LimitSeen => ({ layer, ...(part && { part }), path, max })),
    asks: (asks ?? []).map(placeOfAsk).toSorted(),
  };
}

/** Returns the audit entry of each call, as it is written to the spool. */
export function auditEntriesOf(world: World, calls: readonly Call[]): Readonly<Record<string, unknown>>[] {
  return decideAll(indexAfter(messageOf(world)), world, calls, core).map(({ call, caller, decision }) => {
    const run = {
      sessionId: call.run,
      client: { name: call.hops.at(-1)?.client ?? '' },
      runChain: call.hops.map((_, i) => `${call.run}-${i}`),
      chainClaimed: false,
    };
    const facts = {
      hookEvent: 'PreToolUse',
      tool: call.tool,
      decision,
      requestId: 'request',
      trace: null,
      at: call.at,
      policyAgeMs: 0,
      inputDigest: '',
      input: null,
      findings: [],
    } as const;
    const entry: Readonly<Record<string, unknown>> = JSON.parse(entryText(callerText(caller, run), facts));
    return entry;
  });
}
