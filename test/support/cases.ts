// Reads the decision tables of test/cases: documents, calls, and the expected result of each. Every test that runs them
// (the reference, `decide`, a real gateway) uses this reader. An unknown field is an error, so that a typing mistake
// cannot make a case pass.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type {
  Agent,
  Call,
  Document,
  Hop,
  Key,
  Member,
  Role,
  Server,
  Tier,
  UserDocument,
  WorkspaceDocument,
  World,
} from '../semantics/world.ts';

export interface ExpectedDecision {
  readonly decision: 'allow' | 'deny';
  readonly code: string;
  /** The layer it is attributed to, its part, the place in its document; all absent where no rule decides. */
  readonly layer?: string;
  readonly part?: string;
  readonly path?: string;
  readonly override?: true;
  readonly transform?: 'log' | 'redact';
  readonly stored?: 'log' | 'redact';
  /** Absent: no shadow decision. */
  readonly shadow?: { readonly decision: string; readonly code: string; readonly transform: string };
  readonly stop?: string;
  readonly retryAfterMs?: number | null;
  /** How `decisionReason` begins. */
  readonly reason?: string;
}

export interface CaseCall {
  readonly call: Call;
  readonly want: ExpectedDecision;
  /** Fields of its audit entry with their expected values; null: absent. */
  readonly entry: Readonly<Record<string, unknown>>;
}

export interface Case {
  readonly file: string;
  readonly name: string;
  readonly world: World;
  readonly calls: readonly CaseCall[];
}

// === The subjects of every case

const member = (uid: string, role: Role): Member => ({ uid, email: `${uid}@example.com`, role });
const members: readonly Member[] = [
  member('olga', 'owner'),
  member('adam', 'admin'),
  member('ann', 'member'),
  member('bob', 'member'),
  member('__proto__', 'member'),
  member('constructor', 'member'),
];

const pins = { tier: null, agent: null, client: null };
const keys: readonly Key[] = [
  ...members.map(({ uid, role }) => ({ id: `key-${uid}`, scopes: ['govern'], uid, role, pins })),
  { id: 'service', scopes: ['govern'], uid: null, role: 'member', pins },
  { id: 'operator', scopes: ['govern', 'govern.impersonate'], uid: null, role: 'admin', pins },
  { id: 'reader', scopes: ['agents.read'], uid: null, role: 'admin', pins },
];

const profile: Omit<Agent, 'id' | 'name'> = {
  suspended: false,
  enabledTools: ['github.*'],
  scopes: [],
  maxToolCalls: 50,
  maxBudgetCents: 1000,
  maxDurationMs: 1_800_000,
  maxToolRounds: 10,
  delegatable: true,
  canDelegate: true,
  maxDelegationDepth: null,
};

// === From YAML

type Fields = Readonly<Record<string, unknown>>;

/** The fields of `value`; names other than `names` are an error. */
function fields(value: unknown, where: string, names: readonly string[]): Fields {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error(`${where} must be a mapping`);
  const unknown = Object.keys(value).filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`${where}: unknown ${unknown.join(', ')}; there are ${names.join(', ')}`);
  return { ...value };
}

// The tables are ours: values are trusted, field names are checked. The control plane's own check runs on documents.
const as = <T>(value: unknown, fallback: T): T => (value === undefined ? fallback : (value as T));
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value]);
const entriesOf = <T>(value: unknown): [string, T][] => Object.entries(as<Readonly<Record<string, T>>>(value ?? undefined, {}));

function readWorld(text: Fields, where: string): World {
  const documents = fields(text['documents'], `${where} documents`, ['workspace', 'roles', 'agentTypes', 'users']);
  const settings = fields(text['settings'], `${where} settings`, ['frozen', 'defaultPermission', 'windowSeconds']);
  return {
    frozen: as(settings['frozen'], false),
    defaultPermission: as(settings['defaultPermission'], 'allow'),
    windowSeconds: as(settings['windowSeconds'], 60),
    workspace: as<WorkspaceDocument | null>(documents['workspace'], null),
    roles: entriesOf<Document>(documents['roles']).map(([role, document]) => [role as Role, document]),
    agentTypes: entriesOf<Document>(documents['agentTypes']),
    users: entriesOf<unknown>(documents['users']).map(([uid, value]) => {
      const parts = fields(value, `${where} user ${uid}`, ['organisation', 'self']);
      return {
        uid,
        organisation: as<UserDocument | null>(parts['organisation'], null),
        self: as<UserDocument | null>(parts['self'], null),
      };
    }),
    agents: list(text['agents']).map((agent) => {
      const own = fields(agent, `${where} agent`, ['id', 'name', ...Object.keys(profile)]);
      return { ...profile, ...own, id: as(own['id'], String(own['name'])), name: String(own['name']) };
    }),
    members,
    keys: [...keys, ...list(text['keys']).map((key) => readKey(key, where))],
    servers: entriesOf<Readonly<Record<string, readonly string[]>>>(text['servers']).map(
      ([name, tools]): Server => ({ name, tools: Object.entries(tools).map(([tool, requiredScopes]) => ({ name: tool, requiredScopes })) }),
    ),
  };
}

function readKey(value: unknown, where: string): Key {
  const key = fields(value, `${where} key`, ['id', 'scopes', 'uid', 'role', 'pins']);
  return {
    id: String(key['id']),
    scopes: as(key['scopes'], ['govern']),
    uid: as(key['uid'], null),
    role: as(key['role'], 'member'),
    pins: { ...pins, ...as(key['pins'], {}) },
  };
}

const callFields = [
  'by',
  'key',
  'sub',
  'run',
  'at',
  'tool',
  'tier',
  'client',
  'agent',
  'chain',
  'rounds',
  'spendCents',
  'silentForMs',
  'input',
];
const hopFields = ['tier', 'client', 'agent', 'handedTools', 'handedScopes'];
const wantFields = [
  'decision',
  'code',
  'layer',
  'part',
  'path',
  'override',
  'transform',
  'storedTransform',
  'shadow',
  'stop',
  'retryAfterMs',
  'reason',
];

function readHop(value: unknown, where: string): Hop {
  const hop = fields(value, `${where} hop`, hopFields);
  return {
    tier: as<Tier>(hop['tier'], 'interactive'),
    client: as(hop['client'], 'claude-code'),
    agent: as(hop['agent'], ''),
    ...(hop['handedTools'] !== undefined && { handedTools: as(hop['handedTools'], []) }),
    ...(hop['handedScopes'] !== undefined && { handedScopes: as(hop['handedScopes'], []) }),
  };
}

/** `times: 3` means three equal calls. */
function readCalls(value: unknown, where: string): CaseCall[] {
  const { want, entry, times, ...rest } = fields(value, where, ['want', 'entry', 'times', ...callFields]);
  const { by, key, sub, run, at, tool, tier, client, agent, chain, rounds, spendCents, silentForMs, input } = rest;
  const uid = as<string>(by, 'ann');
  const direct = { ...(tier !== undefined && { tier }), ...(client !== undefined && { client }), ...(agent !== undefined && { agent }) };
  const hops = chain === undefined ? [readHop(direct, where)] : list(chain).map((hop) => readHop(hop, where));
  const identity = uid === 'service' ? { keyId: 'service', sub: 'apikey:service' } : { keyId: `key-${uid}`, sub: uid };
  const call: Call = {
    at: as(at, 0),
    // A run has one caller.
    run: as(run, JSON.stringify([uid, key, sub, hops])),
    keyId: as(key, identity.keyId),
    sub: as(sub, identity.sub),
    hops,
    tool: String(tool),
    ...(rounds !== undefined && { rounds: Number(rounds) }),
    ...(spendCents !== undefined && { spendCents: Number(spendCents) }),
    ...(silentForMs !== undefined && { silentForMs: Number(silentForMs) }),
    ...(input !== undefined && { input: as<NonNullable<Call['input']>>(input, {}) }),
  };
  const wanted = fields(want, `${where} want`, wantFields);
  const one = { call, want: { decision: 'deny', code: '', ...wanted } as ExpectedDecision, entry: as<Fields>(entry, {}) };
  return Array.from({ length: as(times, 1) }, () => one);
}

function readCase(file: string, value: unknown): Case {
  const text = fields(value, file, ['name', 'documents', 'settings', 'agents', 'servers', 'keys', 'calls']);
  const where = `${file}: ${String(text['name'])}`;
  const calls = list(text['calls']).flatMap((call, i) => readCalls(call, `${where}, call ${i + 1}`));
  if (calls.length === 0) throw new Error(`${where}: has no calls`);
  return { file, name: String(text['name']), world: readWorld(text, where), calls };
}

/** Every case of every table. */
export function loadCases(): readonly Case[] {
  const folder = join(import.meta.dirname, '../cases');
  return readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .flatMap((file) => {
      const table: unknown = parse(readFileSync(join(folder, file), 'utf8'));
      return list(fields(table, file, ['about', 'cases'])['cases']).map((one) => readCase(file, one));
    });
}
