// Routes that pages use and that `schema.d.ts` does not have yet. When it has them, the compiler refuses this file, and
// the file is deleted.
import type { components } from './schema.d.ts';

type Json<Body> = { headers: { [name: string]: unknown }; content: { 'application/json': Body } };
type Refusal = Json<components['schemas']['Error']>;
interface Get<Path, Query, Body> {
  parameters: { query?: never; header?: never; path?: never; cookie?: never };
  get: {
    parameters: { query?: Query; header?: never; path: Path; cookie?: never };
    requestBody?: never;
    responses: { 200: Json<Body>; 400: Refusal; 401: Refusal; 403: Refusal; 404: Refusal };
  };
  put?: never;
  post?: never;
  delete?: never;
  options?: never;
  head?: never;
  patch?: never;
  trace?: never;
}

interface InWorkspace {
  workspace: string;
}

export interface StatsGroup {
  value: string;
  total: number;
  lastAt: string;
  counts: { at: string; count: number }[];
}

export interface Stats {
  every: 'minute' | 'hour' | 'day';
  since: string;
  until: string;
  total: number;
  groups: StatsGroup[];
  rest: { values: number; total: number; counts: { at: string; count: number }[] };
  next?: string;
}

interface StatsQuery {
  by?: 'outcome' | 'decision' | 'tool' | 'agent' | 'reason';
  every?: 'minute' | 'hour' | 'day';
  since?: string;
  until?: string;
  top?: number;
  cursor?: string;
  outcome?: string;
  decision?: string;
  tool?: string;
  agent?: string;
  reason?: string;
}

interface Spend {
  day: string;
  resetsAt: string;
  capCents: number;
  users: { sub: string; cents: number }[];
  agents: { agentId: string; name: string; cents: number }[];
  next?: string;
}

interface UnknownAgent {
  name: string;
  calls: number;
  denied: number;
  firstAt: string;
  lastAt: string;
}

type Tier = 'interactive' | 'subagent' | 'background' | 'api';

export interface EffectiveCell {
  decision: 'allow' | 'ask' | 'deny' | 'depends';
  outcome: 'allow' | 'ask' | 'deny' | 'limit' | 'redact';
  rateLimit: number | null;
  transform: 'log' | 'redact';
  layer: string;
  path: string;
  reason: string;
}

export interface EffectiveTool {
  tool: string;
  cells: Partial<Record<Tier, EffectiveCell>>;
}

interface Effective {
  subject: { sub?: string; role?: string };
  tiers: Tier[];
  tools: EffectiveTool[];
  next?: string;
}

interface EffectiveQuery {
  sub?: string;
  role?: 'owner' | 'admin' | 'member';
  agent?: string;
  agentType?: string;
  cursor?: string;
  limit?: number;
}

declare module './schema.d.ts' {
  interface paths {
    '/{workspace}/admin/stats/decisions': Get<InWorkspace, StatsQuery, Stats>;
    '/{workspace}/admin/stats/spend': Get<InWorkspace, { cursor?: string }, Spend>;
    '/{workspace}/admin/unknownAgents': Get<
      InWorkspace,
      { since?: string; cursor?: string; limit?: number },
      { agents: UnknownAgent[]; next?: string }
    >;
    '/{workspace}/admin/effective': Get<InWorkspace, EffectiveQuery, Effective>;
  }
}
