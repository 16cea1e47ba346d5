// The fields of an audit entry in its three forms: as a sidecar writes it (`proto/contract/entry.ts`), as REST answers it (its
// schema in the API document), and as the export by OTLP sends it (records that are made of items with all fields).
import { readFileSync } from 'node:fs';
import type { AuditEntry } from '@tollgate/proto/contract';
import type { ExportedItem } from '../../../control-plane/audit/rules/exported.ts';
import { recordOf, requestOf } from '../../../control-plane/audit/export/records.ts';
import { textOf } from './lines.ts';
import { readApiDocument } from './openapi.ts';

export async function entryFieldsText(): Promise<string> {
  const source = readFileSync(new URL('../../../proto/contract/entry.ts', import.meta.url), 'utf8');
  const { components } = (await readApiDocument()) as { readonly components: { readonly schemas: Readonly<Record<string, Schema>> } };
  const schema = components.schemas['AuditEntry'];
  if (schema === undefined) throw new Error('the API document has no schema AuditEntry');
  return textOf([
    { heading: 'as a sidecar writes and ships an entry; ?: may be absent', lines: writtenFields(source, 'AuditEntry') },
    { heading: 'as REST answers an entry; ?: may be absent', lines: schemaFields(schema) },
    { heading: 'as the export by OTLP sends a log: record, by event name', lines: exportedRecords.flatMap(recordLines) },
    { heading: 'as the export by OTLP sends a log: resource and scope', lines: requestLines(requestOf(exportedLog, [])) },
  ]);
}

/**
 * The fields of a TypeScript interface, including those of interfaces in the same file that it names. Throws where it
 * cannot read one.
 */
export function writtenFields(source: string, name: string): readonly string[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');
  const bodyOf = (one: string): string | undefined => new RegExp(`^export interface ${one} \\{\\n([\\s\\S]*?)^\\}`, 'm').exec(code)?.[1];
  const body = bodyOf(name);
  if (body === undefined) throw new Error(`there is no exported interface ${name}`);
  const field = /\s*readonly (\w+)(\??): ((?:\{[^{}]*\}|[^;{}])+)(?:;|$)/y;
  const read = (text: string, prefix: string): readonly string[] => {
    const lines: string[] = [];
    for (let at = 0; text.slice(at).trim() !== ''; ) {
      field.lastIndex = at;
      const [all = '', key = '', optional = '', type = ''] = field.exec(text) ?? [];
      if (all === '') throw new Error(`a field of ${name} cannot be read: ${text.slice(at).trim().split('\n')[0]}`);
      at += all.length;
      lines.push(...fieldLines(`${prefix}${key}${optional}`, type.replaceAll(/\s+/g, ' ').trim()));
    }
    return lines;
  };
  const fieldLines = (path: string, type: string): readonly string[] => {
    const [, element = type, list = ''] = /^(?:readonly )?(.*?)(\[\])?$/.exec(type) ?? [];
    const inner = element.startsWith('{') ? element.slice(1, -1) : bodyOf(element);
    return inner === undefined ? [`${path}: ${type}`] : read(inner, `${path}${list}.`);
  };
  return read(body, '');
}

interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

const schemaFields = ({ properties = {}, required = [] }: Schema, prefix = ''): readonly string[] =>
  Object.entries(properties).flatMap(([name, schema]) => schemaLines(schema, `${prefix}${name}${required.includes(name) ? '' : '?'}`));

function schemaLines(schema: Schema, path: string): readonly string[] {
  if (schema.properties !== undefined) return schemaFields(schema, `${path}.`);
  if (schema.items !== undefined) return schemaLines(schema.items, `${path}[]`);
  const words = schema.const === undefined ? schema.enum?.map((word) => JSON.stringify(word)) : [JSON.stringify(schema.const)];
  return [`${path}: ${[schema.type, schema.format, words?.join(' | ')].filter((part) => part !== undefined).join(' ') || 'any'}`];
}

type All<T> = T extends readonly (infer E)[] ? readonly All<E>[] : T extends object ? { readonly [K in keyof T]-?: All<T[K]> } : T;

/** Every existing field; the compiler reports a missing one. */
const fullEntry: All<AuditEntry> = {
  hookEvent: 'PreToolUse',
  tool: 'github.read',
  decision: 'allow',
  code: 'allowed',
  decisionReason: 'allowed: by policy',
  agentName: 'bot',
  agentId: 'agent-1',
  agentTier: 'api',
  agentType: 'client::api::bot',
  role: 'member',
  sub: 'ann',
  keyId: 'key-1',
  userEmail: 'ann@acme.test',
  sessionId: 'session-1',
  requestId: 'request-1',
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  ts: '2026-06-25T12:00:00.000Z',
  client: { name: 'client', version: '1' },
  peerUid: 1000,
  originSub: 'ann',
  depth: 1,
  chain: ['root', 'bot'],
  runChain: ['run-1'],
  parentProfileId: 'agent-0',
  chainClaimed: true,
  epoch: 'epoch-1',
  revision: 7,
  policyAgeMs: 10,
  outage: true,
  rule: { layer: 'user', part: 'self', path: 'defaults.api', revision: 7, override: true },
  undecided: [{ document: 'workspace', path: 'defaults.api.cases["large"]', reason: 'absent', at: 'args.amount' }],
  shadow: { decision: 'deny', code: 'policy_denied', reason: 'would_deny', transform: 'log', approximate: true },
  approval: { id: 'approval-1', by: 'bob', at: '2026-06-25T12:00:00.000Z' },
  transform: 'redact',
  findings: [{ kind: 'email', count: 1 }],
  inputDigest: 'ab'.repeat(32),
  input: { path: 'README.md' },
  inputCut: true,
  latencyUs: 90,
  outcome: { isError: false, durationMs: 12, outputDigest: 'cd'.repeat(32), action: 'pass', code: 'internal_error' },
};

const exportedLog = { workspace: 'acme', origin: 'origin-1' };

const exportedEntry = (fields: Partial<AuditEntry> = {}): ExportedItem => ({
  kind: 'entry',
  position: 1,
  chain: 'ef'.repeat(32),
  digest: 'ab'.repeat(32),
  ts: fullEntry.ts,
  entry: { ...fullEntry, id: 'spool-1', receivedAt: fullEntry.ts, ...fields },
});

const gap = { spoolId: 'spool', firstSequence: 1, lastSequence: 2, reason: 'damaged', receivedAt: fullEntry.ts };
const place = { position: 2, chain: 'ef'.repeat(32) };
/** One of each kind; for entries, one of each event and decision, and one without the large fields. */
const exportedRecords: readonly string[] = [
  recordOf(exportedLog, exportedEntry()),
  recordOf(exportedLog, exportedEntry(), true),
  recordOf(exportedLog, exportedEntry({ decision: 'deny', code: 'policy_denied' })),
  recordOf(exportedLog, exportedEntry({ hookEvent: 'PostToolUse' })),
  recordOf(exportedLog, { ...place, kind: 'gap', digest: 'ab'.repeat(32), gap }),
  recordOf(exportedLog, { ...place, kind: 'retired', digest: 'ab'.repeat(32), ts: fullEntry.ts }),
  recordOf(exportedLog, { ...place, kind: 'missing', first: 1, noticedAt: fullEntry.ts }),
];

interface Attribute {
  readonly key: string;
  readonly value: object;
}

const attributeLine = ({ key, value }: Attribute): string => `attribute ${key} ${Object.keys(value).join()}`;

interface LogRecord extends Readonly<Record<string, unknown>> {
  readonly attributes: readonly Attribute[];
  readonly eventName: string;
  readonly severityText: string;
  readonly severityNumber: number;
  readonly body: object;
}

function recordLines(json: string): readonly string[] {
  const { attributes, eventName, severityText, severityNumber, body, ...fields }: LogRecord = JSON.parse(json);
  return [
    ...attributes.map(attributeLine),
    ...Object.keys(fields).map((name) => `field ${name}`),
    `field body ${Object.keys(body).join()}`,
    `severity ${severityNumber} ${severityText}`,
  ].map((line) => `${eventName} ${line}`);
}

function requestLines(json: string): readonly string[] {
  const { resourceLogs }: { readonly resourceLogs: readonly { resource: { attributes: readonly Attribute[] }; scopeLogs: object[] }[] } =
    JSON.parse(json);
  return resourceLogs.flatMap(({ resource, scopeLogs }) => [
    ...resource.attributes.map((attribute) => `resource ${attributeLine(attribute)}`),
    ...scopeLogs.map((logs) => `scope ${JSON.stringify('scope' in logs ? logs.scope : null)}`),
  ]);
}
