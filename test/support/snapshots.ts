// Snapshots as a control plane sends them, built by hand: the smallest world in which a call is decided, and changes of
// it by a test.
import {
  type CompiledAgent,
  type CompiledDocument,
  type CompiledKey,
  type CompiledMember,
  type CompiledServer,
  type CompiledSettings,
  documentKey,
  hashKey,
  plainRedaction,
  plainToolNames,
  type Rule,
  snapshotHash,
  snapshotSchemaVersion,
  type Tier,
} from '@tollgate/proto/contract';
import type { WorkspaceServer } from '../../control-plane/workspaces/rules.ts';
import type { DeltaMessage, SnapshotMessage } from '../../sidecar/engine/snapshot/verify.ts';

export const settings = (fields: Partial<CompiledSettings> = {}): CompiledSettings => ({
  workspace: 'acme',
  workspaceId: '0'.repeat(32),
  frozen: false,
  defaultPermission: 'allow',
  windowSeconds: 60,
  unknownAgents: 'allow',
  auditUnavailable: 'deny',
  outage: { maxStalenessSeconds: 3_600, then: { interactive: 'deny', subagent: 'deny', background: 'deny', api: 'deny' } },
  redaction: plainRedaction,
  toolDefinitions: 'any',
  toolNames: plainToolNames,
  ...fields,
});

export const agent = (fields: Partial<CompiledAgent> = {}): CompiledAgent => ({
  id: 'agent-1',
  name: 'bot',
  suspended: false,
  enabledTools: ['github.*', 'mail.send'],
  scopes: [],
  maxToolCalls: 10_000,
  maxBudgetCents: 1_000,
  maxDurationMs: 1_800_000,
  maxToolRounds: 10,
  delegatable: true,
  canDelegate: true,
  maxDelegationDepth: null,
  ...fields,
});

export const member = (fields: Partial<CompiledMember> = {}): CompiledMember => ({
  uid: 'ann',
  email: 'ann@acme.test',
  role: 'member',
  ...fields,
});

/** The key's text, from any name: the form that callers send. */
export const keyText = (name: string, workspace = 'acme'): string => `gsk_${workspace}_${name.padEnd(40, '0')}`;

export const key = (fields: Partial<CompiledKey> = {}): CompiledKey => ({
  id: 'key-1',
  hash: hashKey(keyText(fields.id?.replaceAll('-', '') ?? 'key1')),
  scopes: ['govern'],
  uid: 'ann',
  role: 'member',
  expiresAt: null,
  pins: { tier: null, agent: null, client: null },
  ...fields,
});

export const document = (fields: Partial<CompiledDocument> = {}): CompiledDocument => ({
  id: { layer: 'workspace' },
  mode: 'enforce',
  defaults: [],
  tools: [],
  agentTypes: [],
  ...fields,
});

/** A registered server with default fields. */
export const server = (fields: Partial<CompiledServer> = {}): CompiledServer => ({
  name: 'github',
  tools: [],
  target: null,
  admitted: [],
  ...fields,
});

/** The same, in the form that the control plane holds. */
export const workspaceServer = (fields: Partial<WorkspaceServer> = {}): WorkspaceServer => ({
  ...server(),
  definition: 'first',
  ...fields,
});

/** A workspace document with one rule for one tool, in these tiers. */
export const ruleFor = (
  tool: string,
  rule: Rule,
  inTiers: readonly Tier[] = ['interactive', 'subagent', 'background', 'api'],
): CompiledDocument => document({ tools: [[tool, inTiers.map((tier) => [tier, rule] as const)]] });

export interface World {
  readonly revision?: number;
  readonly epoch?: string;
  readonly settings?: Partial<CompiledSettings>;
  readonly documents?: readonly CompiledDocument[];
  readonly agents?: readonly CompiledAgent[];
  readonly members?: readonly CompiledMember[];
  readonly keys?: readonly CompiledKey[];
  readonly servers?: readonly CompiledServer[];
}

export interface RawEntry {
  readonly key: string;
  readonly value: Uint8Array;
}

export const rawEntry = (name: string, value: unknown): RawEntry => ({ key: name, value: Buffer.from(JSON.stringify(value)) });

export function entriesOf({
  documents = [],
  agents = [agent()],
  members = [member()],
  keys = [key()],
  servers = [],
  ...world
}: World = {}): readonly RawEntry[] {
  return [
    rawEntry('settings', settings(world.settings)),
    ...documents.map((one) => rawEntry(`document/${documentKey(one.id)}`, one)),
    ...agents.map((one) => rawEntry(`agent/${one.id}`, one)),
    ...members.map((one) => rawEntry(`member/${one.uid}`, one)),
    ...keys.map((one) => rawEntry(`key/${one.id}`, one)),
    ...servers.map((one) => rawEntry(`server/${one.name}`, one)),
  ];
}

/** A message with these entries and the correct hash. */
export function messageOf(entries: readonly RawEntry[], head: Partial<SnapshotMessage> = {}): SnapshotMessage {
  return {
    revision: { epoch: 'e1', number: 1 },
    workspace: 'acme',
    schemaVersion: snapshotSchemaVersion,
    hash: snapshotHash(entries),
    entries,
    ...head,
  };
}

export const snapshotMessage = (world: World = {}): SnapshotMessage =>
  messageOf(entriesOf(world), { revision: { epoch: world.epoch ?? 'e1', number: world.revision ?? 1 } });

/** The delta from one to the other, without anything else. */
export function deltaBetween(before: SnapshotMessage, after: SnapshotMessage): DeltaMessage {
  const held = new Map(before.entries.map(({ key: name, value }) => [name, Buffer.from(value)]));
  const kept = new Set(after.entries.map(({ key: name }) => name));
  return {
    from: before.revision,
    to: after.revision,
    workspace: after.workspace,
    schemaVersion: after.schemaVersion,
    hash: after.hash,
    changed: after.entries.filter(({ key: name, value }) => held.get(name)?.equals(value) !== true),
    removed: [...held.keys()].filter((name) => !kept.has(name)),
  };
}
