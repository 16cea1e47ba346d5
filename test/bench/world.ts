// The world of P1 and P2: four layers, `tools` rules each, caps and limits that are never used up.
import {
  type CompiledAgent,
  type CompiledCase,
  type CompiledDocument,
  type CompiledKey,
  type CompiledSettings,
  documentKey,
  plainRedaction,
  plainToolNames,
  snapshotHash,
  snapshotSchemaVersion,
  type Tier,
} from '@tollgate/proto/contract';
import { bindCaller } from '../../sidecar/engine/decide/bind.ts';
import type { Claim } from '../../sidecar/engine/decide/call.ts';
import { buildIndex } from '../../sidecar/engine/decide/build-index.ts';
import type { Caller } from '../../sidecar/engine/decide/caller.ts';
import { type SnapshotMessage, verifySnapshot } from '../../sidecar/engine/snapshot/verify.ts';

export const toolName = (number: number): string => `server${number % 10}.tool_${number}`;

const tier: Tier = 'api';

/** The cases of the rule of one tool. */
export type CasesOf = (tool: number) => readonly CompiledCase[];

function documentOf(id: CompiledDocument['id'], tools: number, casesOf?: CasesOf): CompiledDocument {
  const rule = { permission: 'allow', rateLimit: 2_000_000_000 } as const;
  const rules = Array.from(
    { length: tools },
    (_, at) => [toolName(at), [[tier, { ...rule, ...(casesOf === undefined ? {} : { cases: casesOf(at) }) }]]] as const,
  );
  return {
    id,
    mode: 'enforce',
    defaults: [[tier, { permission: 'deny' }]],
    tools: rules.toSorted(([a], [b]) => (a < b ? -1 : 1)),
    agentTypes: [],
  };
}

const agentOf = (tools: number): CompiledAgent => ({
  id: 'agent',
  name: 'worker',
  suspended: false,
  enabledTools: Array.from({ length: tools }, (_, at) => toolName(at)),
  scopes: [],
  maxToolCalls: Number.MAX_SAFE_INTEGER,
  maxBudgetCents: 1_000,
  maxDurationMs: Number.MAX_SAFE_INTEGER,
  maxToolRounds: 10,
  delegatable: true,
  canDelegate: false,
  maxDelegationDepth: null,
});

const settings: CompiledSettings = {
  workspace: 'bench',
  workspaceId: '0'.repeat(32),
  frozen: false,
  defaultPermission: 'allow',
  windowSeconds: 60,
  unknownAgents: 'allow',
  auditUnavailable: 'deny',
  outage: { maxStalenessSeconds: 3_600, then: { interactive: 'deny', subagent: 'deny', background: 'deny', api: 'deny' } },
  redaction: plainRedaction,
  toolNames: plainToolNames,
  toolDefinitions: 'any',
};

const key: CompiledKey = {
  id: 'key',
  hash: '',
  scopes: ['*'],
  uid: 'ann',
  role: 'member',
  expiresAt: null,
  pins: { tier: null, agent: null, client: null },
};

/**
 * A snapshot in which all four layers have a rule on each of `tools` tools, as it comes from the wire. `casesOf`: the
 * rules of the workspace have these cases.
 */
export function benchSnapshot(tools: number, casesOf?: CasesOf): SnapshotMessage {
  const documents = [
    documentOf({ layer: 'workspace' }, tools, casesOf),
    documentOf({ layer: 'role', role: 'member' }, tools),
    documentOf({ layer: 'agent-type', agentType: 'bench::api::worker' }, tools),
    documentOf({ layer: 'user', uid: 'ann', part: 'organisation' }, tools),
  ];
  const entries = [
    entry('settings', settings),
    ...documents.map((document) => entry(`document/${documentKey(document.id)}`, document)),
    entry('agent/agent', agentOf(tools)),
    entry('member/ann', { uid: 'ann', email: 'ann@example.test', role: 'member' }),
    entry('key/key', key),
  ];
  return {
    revision: { epoch: 'bench', number: 1 },
    workspace: 'bench',
    schemaVersion: snapshotSchemaVersion,
    hash: snapshotHash(entries),
    entries,
  };
}

const entry = (name: string, value: object): { readonly key: string; readonly value: Buffer } => ({
  key: name,
  value: Buffer.from(JSON.stringify(value)),
});

/** The caller of that world. */
export function layeredCaller(tools: number): Caller {
  const verified = verifySnapshot(benchSnapshot(tools), 'bench');
  if (!verified.ok) throw new Error(verified.message);
  const index = buildIndex(verified.snapshot);
  const claim: Claim = {
    identity: { sub: 'ann', keyId: 'key' },
    hops: [{ tier, client: 'bench', agent: 'worker' }],
  };
  // From the second time on a caller is kept, with its plans, as that of a run is from its second call on.
  bindCaller(index, claim);
  return bindCaller(index, claim);
}
