// Reads the entries of a snapshot or of a delta: every field of each, strictly. Throws `InvalidEntry` with the place of
// the error.
import {
  bounds,
  broughtNameProblem,
  type CompiledAgent,
  type CompiledAsk,
  type CompiledCase,
  type CompiledDocument,
  type CompiledKey,
  type CompiledMember,
  type CompiledServer,
  type CompiledSettings,
  type CompiledTarget,
  type CompiledToolNames,
  conditionBounds,
  type DocumentId,
  documentKey,
  hosts,
  isRole,
  isTier,
  nameProblem,
  plainRedaction,
  plainToolNames,
  readAskTerms,
  type Rule,
  rulePermissions,
  serverUrlProblem,
  type TierRules,
  type ToolHints,
  tiers,
  toolHintNames,
  toolNamesMax,
} from '@tollgate/proto/contract';
import type { Contents } from '../decide/snapshot.ts';
import {
  array,
  boolean,
  type Fields,
  integer,
  InvalidEntry,
  namedOnce,
  nullable,
  object,
  oneOf,
  pair,
  type Reader,
  string,
} from './read.ts';
import { condition } from './read-condition.ts';
import { readRedaction } from './read-redaction.ts';

export interface RawEntry {
  readonly key: string;
  readonly value: Uint8Array;
}

/** `settings` is null if the entries do not contain them. */
export function readEntries(entries: readonly RawEntry[]): Contents {
  let settings: CompiledSettings | null = null;
  const documents: CompiledDocument[] = [];
  const agents: CompiledAgent[] = [];
  const members: CompiledMember[] = [];
  const keys: CompiledKey[] = [];
  const servers: CompiledServer[] = [];
  for (const { key, value } of entries) {
    const json = parseEntry(key, value);
    const kind = key.slice(0, Math.max(0, key.indexOf('/'))) || key;
    const named = (name: string): void => {
      if (key !== `${kind}/${name}`)
        throw new InvalidEntry(
          `${placeOf(key)}: the key must name the same object as the value, but the value names ${JSON.stringify(name)}`,
        );
    };
    if (key === 'settings') settings = readSettings(json);
    else if (kind === 'document') named(documentKey(push(documents, readDocument(json, key)).id));
    else if (kind === 'agent') named(push(agents, readAgent(json, key)).id);
    else if (kind === 'member') named(push(members, readMember(json, key)).uid);
    else if (kind === 'key') named(push(keys, readKey(json, key)).id);
    else if (kind === 'server') named(push(servers, readServer(json, key)).name);
    else throw new InvalidEntry(`${placeOf(key)}: has an unknown kind`);
  }
  return { settings, documents, agents, members, keys, servers };
}

/** Throws `InvalidEntry` if a key appears twice, because it would be undefined which entry is used. */
export function requireOnce(keys: Iterable<string>): void {
  const seen = new Set<string>();
  for (const key of keys) {
    if (seen.has(key)) throw new InvalidEntry(`${placeOf(key)}: appears twice`);
    seen.add(key);
  }
}

const placeKeyLength = 300;
const placeOf = (key: string): string => `entry ${JSON.stringify(key.slice(0, placeKeyLength))}`;

function push<T>(list: T[], item: T): T {
  list.push(item);
  return item;
}

function parseEntry(key: string, value: Uint8Array): Fields {
  if (value.length > bounds.snapshotEntryBytes)
    throw new InvalidEntry(`${placeOf(key)}: must be at most ${bounds.snapshotEntryBytes} bytes, is ${value.length}`);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(value);
    return object(JSON.parse(text), placeOf(key));
  } catch (error) {
    if (error instanceof InvalidEntry) throw error;
    throw new InvalidEntry(`${placeOf(key)}: is not JSON in UTF-8`);
  }
}

const permission = oneOf('allow', 'deny');

function readSettings(json: Fields): CompiledSettings {
  const outage = json.read('outage', object);
  const then = outage.read('then', object);
  const onOutage = oneOf('deny', 'last_known');
  const caps = outage.optional('caps', oneOf('deny'));
  return {
    workspace: json.read('workspace', string),
    // A snapshot on disk may be from before this field existed.
    workspaceId: json.optional('workspaceId', string) ?? '',
    frozen: json.read('frozen', boolean),
    defaultPermission: json.read('defaultPermission', permission),
    windowSeconds: json.read('windowSeconds', integer(1, 86_400)),
    unknownAgents: json.read('unknownAgents', permission),
    auditUnavailable: json.read('auditUnavailable', permission),
    outage: {
      maxStalenessSeconds: outage.read('maxStalenessSeconds', integer(0, 31_536_000)),
      then: {
        interactive: then.read('interactive', onOutage),
        subagent: then.read('subagent', onOutage),
        background: then.read('background', onOutage),
        api: then.read('api', onOutage),
      },
      ...(caps === undefined ? {} : { caps }),
    },
    // An older control plane, or an old snapshot on disk, does not contain these fields.
    redaction: json.optional('redaction', readRedaction) ?? plainRedaction,
    toolNames: json.optional('toolNames', readToolNames) ?? plainToolNames,
    toolDefinitions: json.optional('toolDefinitions', oneOf('any', 'pinned')) ?? 'any',
  };
}

function readDocument(json: Fields, key: string): CompiledDocument {
  const document = {
    id: readDocumentId(json.read('id', object), key),
    mode: json.read('mode', oneOf('enforce', 'audit')),
    defaults: json.read('defaults', readTiers),
    tools: json.read('tools', readPlaces),
    agentTypes: json.read('agentTypes', readPlaces),
  };
  if (document.id.layer !== 'user' && document.agentTypes.length > 0)
    throw new InvalidEntry(`${placeOf(key)}: only a user document may have agentTypes`);
  return document;
}

const readPlaces = namedOnce(pair(string, readTiers));

function readDocumentId(id: Fields, key: string): DocumentId {
  const layer = id.read('layer', oneOf('workspace', 'role', 'agent-type', 'user'));
  switch (layer) {
    case 'workspace':
      return { layer };
    case 'role': {
      const role = id.read('role', string);
      if (!isRole(role)) throw new InvalidEntry(`${placeOf(key)}: id.role is not a known role`);
      return { layer, role };
    }
    case 'agent-type':
      return { layer, agentType: id.read('agentType', string) };
    case 'user':
      return { layer, uid: id.read('uid', string), part: id.read('part', oneOf('organisation', 'self')) };
  }
}

function readTiers(value: unknown, path: string): TierRules {
  const rules = array(pair(oneOf(...tiers), readRule))(value, path);
  if (new Set(rules.map(([tier]) => tier)).size < rules.length) throw new InvalidEntry(`${path}: must not name a tier twice`);
  return rules;
}

function readRule(value: unknown, path: string): Rule {
  const rule = object(value, path);
  rule.only('permission', 'ask', 'rateLimit', 'transform', 'override', 'cases');
  const permissionSaid = readAsking(rule, path);
  const rateLimit = rule.optional('rateLimit', integer(0, 2_147_483_647));
  const transform = rule.optional('transform', oneOf('log', 'redact'));
  const override = rule.optional('override', boolean);
  const cases = rule.optional('cases', readCases);
  return {
    ...permissionSaid,
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(transform === undefined ? {} : { transform }),
    ...(override === true ? { override } : {}),
    ...(cases === undefined ? {} : { cases }),
  };
}

const rulePermission = oneOf(...rulePermissions);

const askTerms: Reader<CompiledAsk> = (value, path) => {
  const terms = readAskTerms(value, path);
  if ('problem' in terms) throw new InvalidEntry(`${terms.problem.path}: ${terms.problem.message}`);
  return terms;
};

/** Returns `permission`, and `ask`, which is present exactly if the permission is `ask`. */
function readAsking(of: Fields, path: string): Pick<Rule, 'permission' | 'ask'> {
  const said = of.optional('permission', rulePermission);
  const ask = of.optional('ask', askTerms);
  if ((said === 'ask') !== (ask !== undefined)) throw new InvalidEntry(`${path}.ask: must be present exactly if permission is "ask"`);
  return said === undefined ? {} : { permission: said, ...(ask === undefined ? {} : { ask }) };
}

function readCases(value: unknown, path: string): readonly CompiledCase[] {
  const cases = array(readCase)(value, path);
  if (cases.length === 0 || cases.length > conditionBounds.casesInRule)
    throw new InvalidEntry(`${path}: must have 1 to ${conditionBounds.casesInRule} cases`);
  if (new Set(cases.map(({ name }) => name)).size < cases.length) throw new InvalidEntry(`${path}: must not name a case twice`);
  return cases;
}

function readCase(value: unknown, path: string): CompiledCase {
  const one = object(value, path);
  one.only('name', 'when', 'permission', 'ask', 'rateLimit', 'transform', 'reason');
  const permissionSaid = readAsking(one, path);
  const rateLimit = one.optional('rateLimit', integer(0, 2_147_483_647));
  const transform = one.optional('transform', oneOf('log', 'redact'));
  const reason = one.optional('reason', string);
  return {
    name: one.read('name', string),
    when: one.read('when', condition),
    ...permissionSaid,
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(transform === undefined ? {} : { transform }),
    ...(reason === undefined ? {} : { reason }),
  };
}

function readAgent(json: Fields, _key: string): CompiledAgent {
  const names = array(string);
  return {
    id: json.read('id', string),
    name: json.read('name', string),
    suspended: json.read('suspended', boolean),
    enabledTools: json.read('enabledTools', names),
    scopes: json.read('scopes', names),
    maxToolCalls: json.read('maxToolCalls', integer(0, Number.MAX_SAFE_INTEGER)),
    maxBudgetCents: json.read('maxBudgetCents', integer(0, Number.MAX_SAFE_INTEGER)),
    maxDurationMs: json.read('maxDurationMs', integer(0, Number.MAX_SAFE_INTEGER)),
    maxToolRounds: json.read('maxToolRounds', integer(0, Number.MAX_SAFE_INTEGER)),
    delegatable: json.read('delegatable', boolean),
    canDelegate: json.read('canDelegate', boolean),
    maxDelegationDepth: json.read('maxDelegationDepth', nullable(integer(0, Number.MAX_SAFE_INTEGER))),
  };
}

function readMember(json: Fields, key: string): CompiledMember {
  return { uid: json.read('uid', string), email: json.read('email', string), role: readRole(json, key) };
}

function readRole(json: Fields, key: string): CompiledMember['role'] {
  const role = json.read('role', string);
  if (!isRole(role)) throw new InvalidEntry(`${placeOf(key)}: role is not a known role`);
  return role;
}

function readKey(json: Fields, key: string): CompiledKey {
  const pins = json.read('pins', object);
  const tier = pins.read('tier', nullable(string));
  if (tier !== null && !isTier(tier)) throw new InvalidEntry(`${placeOf(key)}: pins.tier is not a known tier`);
  return {
    id: json.read('id', string),
    hash: json.read('hash', string),
    scopes: json.read('scopes', array(string)),
    uid: json.read('uid', nullable(string)),
    role: readRole(json, key),
    expiresAt: json.read('expiresAt', nullable(integer(0, Number.MAX_SAFE_INTEGER))),
    pins: { tier, agent: pins.read('agent', nullable(string)), client: pins.read('client', nullable(string)) },
  };
}

function readServer(json: Fields, _key: string): CompiledServer {
  const hints = json.optional('hints', namedOnce(pair(string, readHints)));
  return {
    name: json.read('name', string),
    tools: json.read(
      'tools',
      array((value, path) => {
        const tool = object(value, path);
        return { name: tool.read('name', string), requiredScopes: tool.read('requiredScopes', array(string)) };
      }),
    ),
    // An older control plane sends none of these fields, and a library receives no target and no digests.
    target: json.optional('target', nullable(readTarget)) ?? null,
    admitted: json.optional('admitted', namedOnce(pair(string, string))) ?? [],
    ...(hints === undefined ? {} : { hints }),
  };
}

const readHints: Reader<ToolHints> = (value, path) => {
  const hints = object(value, path);
  return Object.fromEntries(
    toolHintNames.flatMap((name) => {
      const hint = hints.optional(name, boolean);
      return hint === undefined ? [] : [[name, hint]];
    }),
  );
};

function readTarget(value: unknown, path: string): CompiledTarget {
  const target = object(value, path);
  const names = array(string);
  if (target.read('kind', oneOf('url', 'command')) === 'url') {
    const url = target.read('url', string);
    const problem = serverUrlProblem(url, true);
    if (problem !== null) throw new InvalidEntry(`${path}.url: ${problem}`);
    return { kind: 'url', url, headers: target.read('headers', names) };
  }
  return { kind: 'command', program: target.read('program', string), args: target.read('args', names), env: target.read('env', names) };
}

// Reads the names that a workspace adds to the table of tool names of each host. After a successful read, each name
// leads to exactly one name.

function readToolNames(value: unknown, path: string): CompiledToolNames {
  // A host that this sidecar does not know is rejected.
  const known: Reader<CompiledToolNames[number]> = pair(oneOf(...hosts), names);
  return namedOnce(known)(value, path).map(([host, table]) => [oneOf(...hosts)(host, path), table] as const);
}

const brought: Reader<readonly [string, string]> = (value, path) => {
  const [theirs, ours] = pair(string, string)(value, path);
  const wrong = nameProblem(theirs) ?? broughtNameProblem(theirs, ours);
  if (wrong !== null) throw new InvalidEntry(`${path}: ${wrong}`);
  return [theirs, ours];
};

const names: Reader<CompiledToolNames[number][1]> = (value, path) => {
  if (Array.isArray(value) && value.length > toolNamesMax)
    throw new InvalidEntry(`${path}: must contain at most ${toolNamesMax} names, but contains ${value.length}`);
  return namedOnce(brought)(value, path);
};
