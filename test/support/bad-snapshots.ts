// Every possible error of a snapshot, one at a time: the message, the code it must be refused with, and words of the
// place.
import { bounds, type CompiledRedaction, type NackCode } from '@tollgate/proto/contract';
import type { SnapshotMessage } from '../../sidecar/engine/snapshot/verify.ts';
import {
  agent,
  document,
  entriesOf,
  key,
  member,
  messageOf,
  type RawEntry,
  rawEntry,
  server,
  settings,
  snapshotMessage,
} from './snapshots.ts';

/** A snapshot with one entry of every kind, each field of it set. */
export const full = {
  documents: [
    document({ defaults: [['api', { permission: 'allow', rateLimit: 5, transform: 'redact', override: true }]] }),
    document({ id: { layer: 'role', role: 'member' }, mode: 'audit' }),
    document({
      id: { layer: 'agent-type', agentType: 'claude-code::api::bot' },
      tools: [['github.delete', [['api', { permission: 'deny' }]]]],
    }),
    document({ id: { layer: 'user', uid: 'ann', part: 'self' }, agentTypes: [['claude-code::api::bot', [['api', { rateLimit: 0 }]]]] }),
  ],
  servers: [
    server({
      tools: [{ name: 'delete', requiredScopes: ['repo'] }],
      target: { kind: 'url', url: 'https://tools.example/mcp', headers: ['Authorization'] },
      admitted: [['delete', 'd'.repeat(64)]],
    }),
    server({ name: 'files', target: { kind: 'command', program: 'files', args: ['--all'], env: ['TOKEN'] } }),
  ],
} as const;

export const good: SnapshotMessage = snapshotMessage(full);

/** The valid snapshot with one entry replaced (or added), and its hash recomputed. */
export const withEntry = (name: string, value: unknown, as = name): SnapshotMessage =>
  withRaw(name, { key: as, value: value instanceof Uint8Array ? value : Buffer.from(JSON.stringify(value)) });

function withRaw(name: string, replacement: RawEntry): SnapshotMessage {
  const rest = entriesOf(full).filter((entry) => entry.key !== name);
  return messageOf([...rest, replacement]);
}

const change = (value: object, fields: object): object => ({ ...value, ...fields });
export const without = (value: object, name: string): object =>
  Object.fromEntries(Object.entries(value).filter(([field]) => field !== name));
const inDocument = (fields: object): SnapshotMessage => withEntry('document/workspace', change(document(), fields));
const inRule = (rule: unknown): SnapshotMessage => inDocument({ defaults: [['api', rule]] });
const terms = { approvers: ['role:admin'], need: 1, waitSeconds: 300, pendingSeconds: 86_400, validSeconds: 900, uses: 1 };
const inAsk = (fields: object): SnapshotMessage => inRule({ permission: 'ask', ask: { ...terms, ...fields } });
const inUser = (fields: object): SnapshotMessage =>
  withEntry('document/user:ann:self', change(document({ id: { layer: 'user', uid: 'ann', part: 'self' } }), fields));
const inAgent = (fields: object): SnapshotMessage => withEntry('agent/agent-1', change(agent(), fields));
const inKey = (fields: object): SnapshotMessage => withEntry('key/key-1', change(key(), fields));
const inServer = (fields: object): SnapshotMessage => withEntry('server/github', change(server(), fields));
const inSettings = (fields: object): SnapshotMessage => withEntry('settings', change(settings(), fields));
const then = settings().outage.then;
export const redaction: CompiledRedaction = {
  off: ['ip_address'],
  patterns: [['employee_number', 'EMP-[0-9]{6}']],
  allow: ['0'.repeat(64)],
  exceptions: [['crm.*', ['email', 'employee_number']]],
};
export const inRedaction = (fields: object): SnapshotMessage => inSettings({ redaction: change(redaction, fields) });

/** The error, the message, the code it must be refused with, and words of the place. */
export const badSnapshots: readonly (readonly [string, SnapshotMessage, NackCode, string])[] = [
  ['a newer schema', { ...good, schemaVersion: 2 }, 'schema_unsupported', 'schema 1'],
  ['no schema', { ...good, schemaVersion: 0 }, 'schema_unsupported', 'has 0'],
  ['another workspace in the message', { ...good, workspace: 'other' }, 'wrong_workspace', '"other"'],
  ['another workspace in the settings', inSettings({ workspace: 'other' }), 'wrong_workspace', 'settings.workspace'],
  ['no revision', { ...good, revision: null }, 'entry_invalid', 'revision'],
  ['an empty epoch', { ...good, revision: { epoch: '', number: 1 } }, 'entry_invalid', 'revision'],
  ['a negative revision', { ...good, revision: { epoch: 'e1', number: -1 } }, 'entry_invalid', 'revision'],
  ['a fractional revision', { ...good, revision: { epoch: 'e1', number: 1.5 } }, 'entry_invalid', 'revision'],
  ['a revision beyond exact numbers', { ...good, revision: { epoch: 'e1', number: 2 ** 53 } }, 'entry_invalid', 'revision'],
  ['a hash of other content', { ...good, hash: Buffer.alloc(32, 7) }, 'hash_mismatch', 'hash as'],
  ['an empty hash', { ...good, hash: Buffer.alloc(0) }, 'hash_mismatch', 'hash as'],
  ['a hash cut short', { ...good, hash: good.hash.subarray(0, 31) }, 'hash_mismatch', 'hash as'],
  ['an entry left out', { ...good, entries: good.entries.slice(1) }, 'hash_mismatch', 'hash as'],
  ['an older revision than the one held', snapshotMessage({ revision: 4 }), 'revision_backwards', 'revision 4'],
  ['no settings', messageOf(entriesOf(full).filter((entry) => entry.key !== 'settings')), 'settings_missing', 'settings'],
  ['nothing at all', messageOf([]), 'settings_missing', 'settings'],
  ['settings under another key', withEntry('settings', settings(), 'settings/x'), 'entry_invalid', 'settings/x'],
  [
    'a second set of settings',
    messageOf([...entriesOf(full), rawEntry('settings/2', settings({ frozen: true }))]),
    'entry_invalid',
    'settings/2',
  ],
  [
    'an entry that appears twice',
    messageOf([...entriesOf(full), rawEntry('settings', settings({ frozen: true }))]),
    'entry_invalid',
    'twice',
  ],
  ['an entry of an unknown kind', withEntry('', { a: 1 }, 'lease/1'), 'entry_invalid', 'lease/1'],
  ['an entry without a kind', withEntry('', { a: 1 }, '/agent'), 'entry_invalid', '/agent'],
  ['an entry with an empty key', withEntry('', { a: 1 }, ''), 'entry_invalid', '""'],
  ['an entry named as a prototype property', withEntry('', { a: 1 }, '__proto__'), 'entry_invalid', '__proto__'],
  ['a kind named as a prototype property', withEntry('', { a: 1 }, 'constructor/x'), 'entry_invalid', 'constructor/x'],
  ['a value that is not JSON', withEntry('settings', Buffer.from('{"workspace":')), 'entry_invalid', 'settings'],
  ['a value that is not UTF-8', withEntry('settings', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])), 'entry_invalid', 'UTF-8'],
  [
    'a number that JSON has no form for',
    withEntry('document/workspace', Buffer.from(JSON.stringify(document()).replace('"enforce"', 'NaN'))),
    'entry_invalid',
    'document/workspace": is not JSON',
  ],
  [
    'a number beyond all numbers',
    withEntry('agent/agent-1', Buffer.from(JSON.stringify(agent()).replace('"maxToolCalls":10000', '"maxToolCalls":1e999'))),
    'entry_invalid',
    'maxToolCalls',
  ],
  [
    'an entry larger than may be',
    withEntry('agent/agent-1', agent({ name: 'a'.repeat(bounds.snapshotEntryBytes) })),
    'entry_invalid',
    `"agent/agent-1": must be at most ${bounds.snapshotEntryBytes} bytes`,
  ],
  ['an empty value', withEntry('settings', Buffer.alloc(0)), 'entry_invalid', 'settings'],
  ['a value that is a list', withEntry('settings', []), 'entry_invalid', 'an object'],
  ['a value that is null', withEntry('settings', null), 'entry_invalid', 'an object'],
  ['settings without frozen', withEntry('settings', without(settings(), 'frozen')), 'entry_invalid', 'frozen'],
  ['frozen as text', inSettings({ frozen: 'false' }), 'entry_invalid', 'frozen'],
  ['an unknown default permission', inSettings({ defaultPermission: 'ask' }), 'entry_invalid', 'defaultPermission'],
  ['a window of no length', inSettings({ windowSeconds: 0 }), 'entry_invalid', 'windowSeconds'],
  ['a window of a fraction', inSettings({ windowSeconds: 0.5 }), 'entry_invalid', 'windowSeconds'],
  ['no outage rule', withEntry('settings', without(settings(), 'outage')), 'entry_invalid', 'outage'],
  ['a negative staleness', inSettings({ outage: { maxStalenessSeconds: -1, then } }), 'entry_invalid', 'maxStalenessSeconds'],
  [
    'an outage rule without a tier',
    inSettings({ outage: { maxStalenessSeconds: 1, then: without(then, 'api') } }),
    'entry_invalid',
    'then.api',
  ],
  [
    'an unknown outage choice',
    inSettings({ outage: { maxStalenessSeconds: 1, then: change(then, { api: 'allow' }) } }),
    'entry_invalid',
    'then.api',
  ],
  ['redaction that is a list', inSettings({ redaction: [] }), 'entry_invalid', 'redaction'],
  ['redaction of null', inSettings({ redaction: null }), 'entry_invalid', 'redaction'],
  ['redaction without its kinds', inSettings({ redaction: without(redaction, 'off') }), 'entry_invalid', 'redaction.off'],
  ['redaction without its patterns', inSettings({ redaction: without(redaction, 'patterns') }), 'entry_invalid', 'redaction.patterns'],
  ['a kind that is no text switched off', inRedaction({ off: ['ip_address', 1] }), 'entry_invalid', 'redaction.off[1]'],
  [
    'a pattern that is not RE2',
    inRedaction({ patterns: [['a', '(']] }),
    'entry_invalid',
    'redaction.patterns[0][1]: is not an RE2 pattern',
  ],
  ['a pattern that looks back', inRedaction({ patterns: [['a', '(a)\\1']] }), 'entry_invalid', 'redaction.patterns[0][1]'],
  ['a pattern that finds everything', inRedaction({ patterns: [['a', 'x*']] }), 'entry_invalid', 'redaction.patterns[0][1]'],
  ['a pattern that is no text', inRedaction({ patterns: [['a', 1]] }), 'entry_invalid', 'redaction.patterns[0][1]'],
  ['a pattern whose name is no kind', inRedaction({ patterns: [['A-1', 'x']] }), 'entry_invalid', 'redaction.patterns[0][0]'],
  [
    'a pattern named twice',
    inRedaction({
      patterns: [
        ['a', 'x'],
        ['a', 'y'],
      ],
    }),
    'entry_invalid',
    'redaction.patterns: must not contain a name twice',
  ],
  [
    'a pattern by the name of what stands for too much work',
    inRedaction({ patterns: [['over_budget', 'x']] }),
    'entry_invalid',
    'redaction.patterns[0][0]',
  ],
  [
    'a pattern by the name of a kind that is off',
    inRedaction({ patterns: [['ip_address', 'x']] }),
    'entry_invalid',
    'redaction.patterns: must not contain ip_address, because this kind is switched off',
  ],
  [
    'more patterns than may be',
    inRedaction({ patterns: Array.from({ length: 51 }, (_, at) => [`p${at}`, 'x']) }),
    'entry_invalid',
    'redaction.patterns: must contain at most 50 items, but contains 51',
  ],
  [
    'more allowed values than may be',
    inRedaction({ allow: Array.from({ length: 1_001 }, () => '0'.repeat(64)) }),
    'entry_invalid',
    'redaction.allow: must contain at most 1000 items, but contains 1001',
  ],
  [
    'more exceptions than may be',
    inRedaction({ exceptions: Array.from({ length: 1_001 }, (_, at) => [`t${at}`, []]) }),
    'entry_invalid',
    'redaction.exceptions: must contain at most 1000 items, but contains 1001',
  ],
  ['an allowed digest in upper case', inRedaction({ allow: ['A'.repeat(64)] }), 'entry_invalid', 'redaction.allow[0]'],
  ['an allowed digest cut short', inRedaction({ allow: ['a'.repeat(63)] }), 'entry_invalid', 'redaction.allow[0]'],
  ['an exception that is not a list', inRedaction({ exceptions: [['crm.*', 'email']] }), 'entry_invalid', 'redaction.exceptions[0][1]'],
  ['an exception of no kind', inRedaction({ exceptions: [['crm.*', ['E mail']]] }), 'entry_invalid', 'redaction.exceptions[0][1][0]'],
  [
    'an exception for a tool that appears twice',
    inRedaction({
      exceptions: [
        ['crm.*', ['email']],
        ['crm.*', []],
      ],
    }),
    'entry_invalid',
    'redaction.exceptions: must not contain a name twice',
  ],
  ['a document under another key', withEntry('document/workspace', document(), 'document/role:member'), 'entry_invalid', 'twice'],
  ['a document whose id is of another layer', withEntry('', document(), 'document/role:owner'), 'entry_invalid', 'workspace'],
  ['a document without id', withEntry('document/workspace', without(document(), 'id')), 'entry_invalid', 'id'],
  ['an unknown layer', inDocument({ id: { layer: 'team' } }), 'entry_invalid', 'layer'],
  [
    'an unknown role',
    withEntry('', change(document(), { id: { layer: 'role', role: 'root' } }), 'document/role:root'),
    'entry_invalid',
    'role',
  ],
  [
    'an unknown part',
    withEntry('', change(document(), { id: { layer: 'user', uid: 'ann', part: 'other' } }), 'document/user:ann:other'),
    'entry_invalid',
    'part',
  ],
  ['an unknown mode', inDocument({ mode: 'audit-only' }), 'entry_invalid', 'mode'],
  ['defaults as an object', inDocument({ defaults: { api: {} } }), 'entry_invalid', 'defaults'],
  ['an unknown tier', inDocument({ defaults: [['batch', {}]] }), 'entry_invalid', 'defaults[0][0]'],
  ['a tier named as a prototype property', inDocument({ defaults: [['__proto__', {}]] }), 'entry_invalid', 'defaults[0][0]'],
  [
    'a tier named twice',
    inDocument({
      defaults: [
        ['api', {}],
        ['api', {}],
      ],
    }),
    'entry_invalid',
    'defaults',
  ],
  ['a pair of three', inDocument({ defaults: [['api', {}, {}]] }), 'entry_invalid', 'defaults[0]'],
  [
    'a tool named twice',
    inDocument({
      tools: [
        ['mail.send', [['api', { permission: 'deny' }]]],
        ['mail.send', []],
      ],
    }),
    'entry_invalid',
    'tools',
  ],
  ['a tool that is no text', inDocument({ tools: [[1, []]] }), 'entry_invalid', 'tools[0][0]'],
  [
    'an agent type named twice',
    inUser({
      agentTypes: [
        ['c::api::', []],
        ['c::api::', []],
      ],
    }),
    'entry_invalid',
    'agentTypes',
  ],
  ['agent types in a workspace document', inDocument({ agentTypes: [['c::api::', []]] }), 'entry_invalid', 'agentTypes'],
  ['a rule that is a list', inRule([]), 'entry_invalid', 'an object'],
  ['an unknown field of a rule', inRule({ permision: 'deny' }), 'entry_invalid', 'permision'],
  ['an unknown permission', inRule({ permission: 'escalate' }), 'entry_invalid', 'permission'],
  ['a question without terms', inRule({ permission: 'ask' }), 'entry_invalid', 'ask'],
  ['terms of a rule that denies', inRule({ permission: 'deny', ask: terms }), 'entry_invalid', 'ask'],
  ['terms of a rule without permission', inRule({ ask: terms }), 'entry_invalid', 'ask'],
  ['terms that are a text', inRule({ permission: 'ask', ask: 'confirm' }), 'entry_invalid', 'ask'],
  ['an unknown term', inAsk({ escalate: true }), 'entry_invalid', 'ask.escalate'],
  ['terms without approvers', inRule({ permission: 'ask', ask: without(terms, 'approvers') }), 'entry_invalid', 'ask.approvers'],
  ['no approver', inAsk({ approvers: [] }), 'entry_invalid', 'ask.approvers'],
  ['too many approvers', inAsk({ approvers: Array.from({ length: 21 }, (_, i) => `user:u${i}`) }), 'entry_invalid', 'ask.approvers'],
  ['an approver twice', inAsk({ approvers: ['user:ann', 'user:ann'] }), 'entry_invalid', 'ask.approvers'],
  ['an approver of no role', inAsk({ approvers: ['role:visitor'] }), 'entry_invalid', 'ask.approvers'],
  ['an approver of no kind', inAsk({ approvers: ['ann'] }), 'entry_invalid', 'ask.approvers'],
  ['an approver without a uid', inAsk({ approvers: ['user:'] }), 'entry_invalid', 'ask.approvers'],
  ['a need of 0', inAsk({ need: 0 }), 'entry_invalid', 'ask.need'],
  ['a wait that is too long', inAsk({ waitSeconds: 3_601 }), 'entry_invalid', 'ask.waitSeconds'],
  ['a question that stands too long', inAsk({ pendingSeconds: 30 * 86_400 + 1 }), 'entry_invalid', 'ask.pendingSeconds'],
  ['an approval that is valid for no time', inAsk({ validSeconds: 0 }), 'entry_invalid', 'ask.validSeconds'],
  ['a use of a fraction', inAsk({ uses: 1.5 }), 'entry_invalid', 'ask.uses'],
  ['self of false', inAsk({ self: false }), 'entry_invalid', 'ask.self'],
  ['an unknown way to answer', inAsk({ via: 'mail' }), 'entry_invalid', 'ask.via'],
  ['no channel', inAsk({ channels: [] }), 'entry_invalid', 'ask.channels'],
  ['a reason that is too long', inAsk({ reason: 'r'.repeat(301) }), 'entry_invalid', 'ask.reason'],
  ['a permission of null', inRule({ permission: null }), 'entry_invalid', 'permission'],
  ['an unknown transform', inRule({ transform: 'drop' }), 'entry_invalid', 'transform'],
  ['a negative limit', inRule({ rateLimit: -1 }), 'entry_invalid', 'rateLimit'],
  ['a fractional limit', inRule({ rateLimit: 0.5 }), 'entry_invalid', 'rateLimit'],
  ['a limit as text', inRule({ rateLimit: '5' }), 'entry_invalid', 'rateLimit'],
  ['a limit that is too large', inRule({ rateLimit: 2 ** 31 }), 'entry_invalid', 'rateLimit'],
  ['an override of 1', inRule({ override: 1 }), 'entry_invalid', 'override'],
  ['an agent under another id', withEntry('agent/agent-1', agent({ id: 'agent-2' }), 'agent/agent-1'), 'entry_invalid', 'agent-2'],
  ['an agent without a cap', withEntry('agent/agent-1', without(agent(), 'maxToolCalls')), 'entry_invalid', 'maxToolCalls'],
  ['a negative cap', inAgent({ maxToolCalls: -1 }), 'entry_invalid', 'maxToolCalls'],
  ['a fractional cap', inAgent({ maxBudgetCents: 0.1 }), 'entry_invalid', 'maxBudgetCents'],
  ['a cap as text', inAgent({ maxDurationMs: '5' }), 'entry_invalid', 'maxDurationMs'],
  ['a cap of null', inAgent({ maxToolRounds: null }), 'entry_invalid', 'maxToolRounds'],
  ['enabledTools as text', inAgent({ enabledTools: 'github.*' }), 'entry_invalid', 'enabledTools'],
  ['a tool of enabledTools that is no text', inAgent({ enabledTools: ['a', 1] }), 'entry_invalid', 'enabledTools[1]'],
  ['a delegation depth of a fraction', inAgent({ maxDelegationDepth: 1.5 }), 'entry_invalid', 'maxDelegationDepth'],
  ['suspended as a number', inAgent({ suspended: 0 }), 'entry_invalid', 'suspended'],
  ['a member under another uid', withEntry('member/ann', member({ uid: 'bob' })), 'entry_invalid', 'bob'],
  ['a member of no role', withEntry('member/ann', change(member(), { role: 'visitor' })), 'entry_invalid', 'role'],
  ['a member without e-mail', withEntry('member/ann', without(member(), 'email')), 'entry_invalid', 'email'],
  ['a key under another id', withEntry('key/key-1', key({ id: 'key-2' })), 'entry_invalid', 'key-2'],
  ['a key of no role', inKey({ role: 'toString' }), 'entry_invalid', 'role'],
  ['a key without pins', withEntry('key/key-1', without(key(), 'pins')), 'entry_invalid', 'pins'],
  ['a key that pins no tier of ours', inKey({ pins: { tier: 'root', agent: null, client: null } }), 'entry_invalid', 'tier'],
  ['a key whose expiry is text', inKey({ expiresAt: '2030-01-01' }), 'entry_invalid', 'expiresAt'],
  ['a key whose scopes are text', inKey({ scopes: '*' }), 'entry_invalid', 'scopes'],
  ['a key whose uid is a number', inKey({ uid: 7 }), 'entry_invalid', 'uid'],
  ['a server under another name', withEntry('server/github', { name: 'gitlab', tools: [] }), 'entry_invalid', 'gitlab'],
  [
    'a server whose tool has no scopes',
    withEntry('server/github', { name: 'github', tools: [{ name: 'delete' }] }),
    'entry_invalid',
    'requiredScopes',
  ],
  ['a server with a hint that is text', inServer({ hints: [['delete', { readOnlyHint: 'yes' }]] }), 'entry_invalid', 'readOnlyHint'],
  [
    'a server with hints of a tool twice',
    inServer({
      hints: [
        ['a', {}],
        ['a', {}],
      ],
    }),
    'entry_invalid',
    'hints',
  ],
  ['a server of an unknown kind', inServer({ target: { kind: 'socket', path: '/run/x' } }), 'entry_invalid', 'target.kind'],
  [
    'a server whose url is none',
    inServer({ target: { kind: 'url', url: 'x', headers: [] } }),
    'entry_invalid',
    'target.url: must be a URL',
  ],
  [
    'a server whose url holds a password',
    inServer({ target: { kind: 'url', url: 'https://a:b@x.test/', headers: [] } }),
    'entry_invalid',
    'target.url: must hold no credentials',
  ],
  [
    'a server whose headers have values',
    inServer({ target: { kind: 'url', url: 'https://x.test/', headers: { a: 'b' } } }),
    'entry_invalid',
    'target.headers',
  ],
  ['a program without arguments', inServer({ target: { kind: 'command', program: 'x', env: [] } }), 'entry_invalid', 'target.args'],
  [
    'a definition admitted twice',
    inServer({
      admitted: [
        ['a', 'b'],
        ['a', 'c'],
      ],
    }),
    'entry_invalid',
    'admitted: must not contain a name twice',
  ],
  ['a definition admitted without a digest', inServer({ admitted: [['a', null]] }), 'entry_invalid', 'admitted[0][1]'],
  ['definitions that are pinned halfway', inSettings({ toolDefinitions: 'some' }), 'entry_invalid', 'toolDefinitions'],
];
