// Runs without a control plane: policy from the test, a real spool, a scripted model, tools in memory, costs counted in
// memory, and a clock that the test advances.

import type { AuditEntry } from '@tollgate/proto/contract';
import { canonicalJson } from '@tollgate/proto/contract';
import { type Tracing, untraced } from '@tollgate/sidecar/telemetry';
import { onTestFinished } from 'vitest';
import { compileSnapshot } from '../../sidecar/engine/compile/compile.ts';
import type { WorkspaceState } from '../../control-plane/workspaces/rules.ts';
import type { Actor } from '../../control-plane/access/rules/actor.ts';
import type { Agent } from '../../control-plane/agents/rules/agent.ts';
import { type Rates, ratesFromPrice } from '../../control-plane/agents/rules/rates.ts';
import { type Account, grantOf, spentOf } from '../../control-plane/runs/rules/budget.ts';
import type { RunHalt, RunProgress } from '../../control-plane/runs/rules/run.ts';
import type { AgentAsk } from '../../control-plane/runs/begin-run.ts';
import type { RunEvent } from '../../control-plane/runs/events.ts';
import type { ModelEvent, ModelRequest, Models, RequestedCall, TokenUsage } from '../../control-plane/runs/model.ts';
import type { Money } from '../../control-plane/runs/money.ts';
import type { NewRun, RunEnd, RunRecords } from '../../control-plane/runs/records.ts';
import { createSeats } from '../../control-plane/base/turns.ts';
import { belowBounds, createRunner, type Runner } from '../../control-plane/runs/runner.ts';
import type { RunTool, Toolbox, ToolContext, ToolResult } from '../../control-plane/runs/tools/tool.ts';
import type { Governing } from '../../sidecar/engine/govern/governing.ts';
import { createOwedEntries } from '../../sidecar/engine/govern/owed-entries.ts';
import { createCounters } from '../../sidecar/engine/limits/counters.ts';
import { createPolicyCell } from '../../sidecar/engine/snapshot/cell.ts';
import type { Log } from '../../sidecar/base/log.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import { silentLog } from './silent-log.ts';
import { messageOf } from './snapshots.ts';
import { openTestSpool, readAll, temporaryFolder } from './spools.ts';

export const someAgent = (fields: Partial<Agent> = {}): Agent => ({
  id: 'agent00000000000root',
  name: 'root',
  model: 'test/priced',
  systemPrompt: 'You are a test.',
  description: '',
  icon: '',
  enabledTools: ['box.*'],
  scopes: [],
  maxToolCalls: 50,
  maxBudgetCents: 1_000,
  maxDurationMs: 1_800_000,
  maxToolRounds: 10,
  delegatable: true,
  canDelegate: false,
  maxDelegationDepth: null,
  suspended: false,
  createdAt: new Date(0),
  updatedAt: new Date(0),
  ...fields,
});

const keyHash = 'a'.repeat(64);

export const someActor = (fields: Partial<Actor> = {}): Actor => ({
  workspaceId: 1,
  slug: 'acme',
  revision: 1,
  epoch: 'e1',
  credential: { kind: 'key', hash: keyHash, expiresAt: null },
  keyId: 'key-1',
  onMember: false,
  sub: 'ann',
  uid: 'ann',
  memberUid: 'ann',
  role: 'member',
  scopes: ['agents.write'],
  pins: { tier: null, agent: null, client: null },
  expiresAt: null,
  ...fields,
});

export const someState = (fields: Partial<WorkspaceState> = {}): WorkspaceState => ({
  workspace: 'acme',
  workspaceId: '0'.repeat(32),
  epoch: 'e1',
  revision: 1,
  frozen: false,
  documents: [],
  agents: [someAgent()],
  members: [{ uid: 'ann', email: 'ann@acme.test', role: 'member' }],
  keys: [
    {
      id: 'key-1',
      hash: keyHash,
      scopes: ['agents.write'],
      uid: 'ann',
      role: 'member',
      expiresAt: null,
      pins: { tier: null, agent: null, client: null },
    },
  ],
  servers: [],
  ...fields,
});

/** The next reply of a model: text, calls, or the result of a test's function of the request. */
export type Line = Partial<Extract<ModelEvent, { kind: 'reply' }>> | ((request: ModelRequest) => AsyncIterable<ModelEvent>);

export const usageOf = (inputTokens: number, outputTokens: number): TokenUsage => ({
  inputTokens,
  outputTokens,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
});

let callIds = 0;

export const callOf = (tool: string, input: unknown = {}): RequestedCall => ({
  callId: `call-${(callIds += 1)}`,
  alias: tool.replaceAll('.', '__'),
  arguments: typeof input === 'string' ? input : JSON.stringify(input),
});

/** Replies in the order of the script; its last line is repeated for ever. */
export function scripted(lines: readonly Line[], outputLimit = 8_192): Models & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    requests,
    problem: (model) => (model.startsWith('test/') ? null : `the model ${model} is not known`),
    outputLimit: () => outputLimit,
    reply: (request) => {
      const line = lines[Math.min(requests.length, lines.length - 1)] ?? {};
      requests.push(request);
      return typeof line === 'function' ? line(request) : said(line);
    },
  };
}

async function* said(line: Partial<Extract<ModelEvent, { kind: 'reply' }>>): AsyncGenerator<ModelEvent> {
  const { text = '', toolCalls = [], usage = usageOf(10, 5), pieces } = line;
  if (text !== '') yield { kind: 'text', delta: text };
  const finish = line.finish ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop');
  yield { kind: 'reply', text, toolCalls, usage, finish, ...(pieces === undefined ? {} : { pieces }) };
}

/** 100 µ¢ per input token, 400 per output token. */
const priced: Rates = ratesFromPrice({ inputCentsPerMillionTokens: 100, outputCentsPerMillionTokens: 400 });
const free: Rates = ratesFromPrice({ inputCentsPerMillionTokens: 0, outputCentsPerMillionTokens: 0 });
const ratesOf = (model: string): Rates => (model === 'test/free' ? free : priced);

interface BookedRun extends NewRun {
  readonly lineage: readonly string[];
  spent: number;
  reserved: number;
  /** As reported. */
  readonly progress: RunProgress[];
  end: RunEnd | null;
}

/** Like the books in the database: grants what remains in the day, in the run and in all runs above it. */
export function createTestBooks(dailyCap = 5_000_000_000) {
  const runs = new Map<string, BookedRun>();
  const open = new Map<string, { readonly lineage: readonly string[]; readonly amount: number }>();
  const day = { spent: 0, reserved: 0 };
  const settled: number[] = [];
  let ids = 0;
  const move = (lineage: readonly string[], spent: number, reserved: number): void => {
    for (const one of [day, ...lineage.flatMap((id) => runs.get(id) ?? [])]) {
      one.spent += spent;
      one.reserved += reserved;
    }
  };
  const money: Money = {
    reserve: async ({ id }, wanted) => {
      const run = runs.get(id);
      if (run === undefined || run.end !== null) return { kind: 'ended' };
      const accounts = run.lineage.flatMap((above): readonly Account[] => {
        const one = runs.get(above);
        return one === undefined ? [] : [{ kind: above === id ? 'run' : 'ancestor', cap: one.budget, ...one }];
      });
      const grant = grantOf(
        [{ kind: 'day', cap: dailyCap, ...day }, ...accounts.map(({ kind, cap, spent, reserved }) => ({ kind, cap, spent, reserved }))],
        { least: wanted.least, most: wanted.most },
      );
      if (!('amount' in grant)) return { kind: 'exhausted', bound: 'exhausted' in grant ? grant.exhausted : grant.busy };
      const reservationId = `r-${(ids += 1)}`;
      open.set(reservationId, { lineage: run.lineage, amount: grant.amount });
      move(run.lineage, 0, grant.amount);
      return { kind: 'granted', reservationId, ...grant };
    },
    settle: async (_run, reservationId, cost) => {
      const made = open.get(reservationId);
      if (made === undefined) return;
      open.delete(reservationId);
      settled.push(cost);
      move(made.lineage, spentOf(made.amount, cost), -made.amount);
    },
  };
  const records: RunRecords = {
    begin: async (run) => {
      const above = run.parentRunId === null ? null : runs.get(run.parentRunId);
      if (above === undefined || (above !== null && above.end !== null)) return false;
      runs.set(run.id, { ...run, lineage: [...(above?.lineage ?? []), run.id], spent: 0, reserved: 0, progress: [], end: null });
      return true;
    },
    wait: () => Promise.resolve({ kind: 'impossible', why: 'nothing is stored' }),
    markContinued: () => Promise.resolve(),
    update: ({ id }, progress) => void runs.get(id)?.progress.push(progress),
    end: async ({ id }, end) => {
      const run = runs.get(id);
      if (run === undefined || run.end !== null) return null;
      run.end = end;
      return { spent: run.spent };
    },
  };
  return { money, records, runs, day, settled, open };
}

export interface ToolCallSeen {
  readonly name: string;
  readonly input: unknown;
}

/** For servers that are registered when the run begins; a tool without a server is never gone. */
function goneOf(held: () => WorkspaceState['servers']): Toolbox['gone'] {
  const definitionOf = (tool: string): string | undefined => held().find(({ name }) => tool.startsWith(`${name}.`))?.definition;
  const opened = new Map(held().map(({ name, definition }) => [name, definition]));
  return (tool) => {
    const was = opened.get(tool.split('.')[0] ?? '');
    return was === undefined || was === definitionOf(tool) ? null : 'its server is gone';
  };
}

/** Tools that do what the test says; `seen` is every input that reached them. */
export function createTestToolbox(
  run: (call: ToolCallSeen, context: ToolContext) => Promise<unknown> = async ({ input }) => ({ did: input }),
  tools: readonly RunTool[] = [someTool('box.one'), someTool('box.two')],
) {
  const seen: ToolCallSeen[] = [];
  let closed = 0;
  const open = (held: () => WorkspaceState['servers'] = () => []): Toolbox => ({
    tools,
    gone: goneOf(held),
    call: async (name, input, context): Promise<ToolResult> => {
      seen.push({ name, input });
      const output = await run({ name, input }, context);
      return { output, isError: false };
    },
    close: async () => {
      closed += 1;
    },
  });
  return {
    open,
    seen,
    get closed() {
      return closed;
    },
  };
}

export const someTool = (name: string, inputSchema: RunTool['inputSchema'] = { type: 'object' }): RunTool => ({
  name,
  description: `is ${name}`,
  inputSchema,
});

interface Options {
  readonly state?: Partial<WorkspaceState>;
  readonly lines?: readonly Line[];
  /** Unit: tokens. */
  readonly outputLimit?: number;
  readonly tracing?: Tracing;
  readonly toolbox?: ReturnType<typeof createTestToolbox>;
  readonly books?: ReturnType<typeof createTestBooks>;
  readonly argumentsProblem?: (schema: RunTool['inputSchema'], input: unknown) => string | null;
  readonly admit?: Parameters<typeof createRunner>[0]['admit'];
  readonly log?: Log;
  /** How many runs may be in progress below others. */
  readonly below?: { readonly each: number; readonly all: number };
}

export interface Running {
  readonly runner: Runner;
  readonly clock: ManualClock;
  readonly model: ReturnType<typeof scripted>;
  readonly toolbox: ReturnType<typeof createTestToolbox>;
  readonly books: ReturnType<typeof createTestBooks>;
  readonly governing: Governing;
  readonly released: () => number;
  /** The next revision of the workspace. */
  take(change: Partial<WorkspaceState>): void;
  /** Halts a run as the database would. */
  halt(runId: string, why: RunHalt): void;
  entries(): Promise<readonly AuditEntry[]>;
  /** Runs a run to its end, and returns its events. */
  run(ask?: Partial<AgentAsk>, options?: { readonly actor?: Partial<Actor>; readonly signal?: AbortSignal }): Promise<Ran>;
}

export interface Ran {
  readonly id: string;
  readonly events: readonly RunEvent[];
  /** The kinds of its events, in order. */
  readonly kinds: readonly string[];
  readonly end: RunEvent;
}

const never = new AbortController().signal;

export async function startRunning(options: Options = {}): Promise<Running> {
  const { lines = [{ text: 'done' }], toolbox = createTestToolbox(), books = createTestBooks(), argumentsProblem = () => null } = options;
  const clock = createManualClock();
  const cell = createPolicyCell(clock, 'acme');
  const counters = createCounters(60);
  const spool = await openTestSpool({ folder: temporaryFolder() });
  onTestFinished(() => spool.close());
  let state = someState(options.state);
  const take = (change: Partial<WorkspaceState>): void => {
    state = { ...state, ...change, revision: state.revision + 1 };
    offer();
  };
  const offer = (): void => {
    cell.heard(state.revision);
    const entries = compileSnapshot(state, { defaultPermission: 'allow', windowSeconds: 60 });
    const offered = cell.offer(messageOf(entries, { revision: { epoch: state.epoch, number: state.revision } }));
    if (!offered.ok) throw new Error(`${offered.code}: ${offered.message}`);
  };
  offer();
  let ids = 0;
  const govern = { cell, clock, newId: () => `request-${(ids += 1)}`, keepInput: true };
  const governing: Governing = {
    cell,
    counters,
    govern,
    spool,
    durability: 'kernel',
    owed: createOwedEntries(),
    unrecorded: 0,
    unconfirmed: 0,
  };
  const model = scripted(lines, options.outputLimit);
  const halts = new Map<string, (why: RunHalt) => void>();
  let released = 0;
  let runs = 0;
  const runner = createRunner({
    governor: {
      open: async () => ({
        sidecar: {
          governing,
          get state() {
            return state;
          },
          reached: () => Promise.resolve(),
          watch: (look) => {
            cell.onSwap(look);
            return () => undefined;
          },
          sweep: () => undefined,
          drain: () => undefined,
          isSettled: () => true,
          shipping: () => ({
            link: 'connected',
            records: 0,
            bytes: 0,
            oldestAgeMs: 0,
            lost: 0,
            adopted: 0,
            refusedSpools: 0,
            refusedRecords: 0,
            lastError: undefined,
          }),
          leasing: () => ({ link: 'open', problem: null, counters: 0, waiting: 0, waits: 0, dryDenials: 0, granted: 0, used: 0 }),
          close: () => Promise.resolve(),
        },
        release: () => {
          released += 1;
        },
      }),
    },
    models: model,
    rates: { of: ratesOf, dearestOf: ratesOf },
    money: books.money,
    records: books.records,
    watch: ({ id }, halt) => {
      halts.set(id, halt);
      return () => void halts.delete(id);
    },
    seatsBelow: createSeats(options.below ?? belowBounds),
    admit: options.admit ?? (() => Promise.resolve()),
    openToolbox: async (_workspace, _enabled, held) => toolbox.open(held),
    workbench: {
      aliases: (names) => ({
        aliasOf: (name) => name.replaceAll('.', '__'),
        nameOf: (alias) => names.find((name) => name.replaceAll('.', '__') === alias) ?? null,
      }),
      argumentsProblem,
    },
    clock,
    newId: () => `run-${(runs += 1)}`,
    log: options.log ?? silentLog,
    tracing: options.tracing ?? untraced,
  });
  return {
    runner,
    clock,
    model,
    toolbox,
    books,
    governing,
    released: () => released,
    take,
    halt: (runId, why) => halts.get(runId)?.(why),
    entries: async () =>
      (await readAll(spool.backlog)).map((record) => ('entry' in record ? parseEntry(record.entry.toString()) : lost(record.lost.reason))),
    run: async (ask = {}, { actor = {}, signal = never } = {}) => {
      const events: RunEvent[] = [];
      const reporting = {
        signal,
        isStream: true,
        emit: async (event: RunEvent): Promise<void> => {
          // As it would be sent over the wire.
          canonicalJson(event);
          events.push(event);
        },
      };
      const started = await runner.start(
        someActor(actor),
        { agentId: someAgent().id, input: 'do it', context: {}, stream: false, ...ask },
        reporting,
      );
      await started.finished.catch(() => undefined);
      const end = events.at(-1);
      if (end === undefined) throw new Error('nothing was told');
      return { id: started.id, events, kinds: events.map(({ kind }) => kind), end };
    },
  };
}

// Parses what `entryText` writes; the tests that read it check its fields.
const parseEntry = (text: string): AuditEntry => JSON.parse(text) as AuditEntry;

const lost = (why: string): never => {
  throw new Error(`an entry was lost: ${why}`);
};
