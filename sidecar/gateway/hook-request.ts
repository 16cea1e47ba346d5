// The two requests of the hook protocol, parsed once and strictly. Unknown fields are tolerated; a known field of a
// wrong type is an error that names it.
import { bounds, canonicalJson, childPath, isTier, nameProblem, NotJson, type Tier } from '@tollgate/proto/contract';

export interface HookRequest {
  readonly tool: string;
  readonly input: unknown;
  readonly sessionId: string;
  readonly callId: string | null;
  readonly tier: Tier;
  /** Root to caller, the caller last. */
  readonly chain: readonly string[];
  readonly delegatedTools: readonly string[] | null;
  readonly client: { readonly name: string; readonly version?: string };
  readonly impersonate: string | null;
  readonly acceptsModifiedInput: boolean;
}

export interface HookOutputRequest extends HookRequest {
  readonly output: unknown;
  readonly isError: boolean;
}

/** A problem with its place, for a 400. */
export class BadHookRequest extends Error {
  override readonly name = 'BadHookRequest';
}

const fail = (path: string, message: string): never => {
  throw new BadHookRequest(`${path} ${message}`);
};

type Body = ReadonlyMap<string, unknown>;

export function parseHookRequest(body: unknown, clientHeader: string | undefined): HookRequest {
  const fields = bodyOf(body);
  const agentName = optionalName(fields, 'agent_name') ?? '';
  return {
    tool: requiredText(fields, 'tool_name'),
    input: jsonField(fields, 'tool_input'),
    sessionId: requiredName(fields, 'session_id'),
    callId: optionalName(fields, 'call_id'),
    tier: tierOf(fields),
    chain: chainOf(fields, agentName),
    delegatedTools: fields.has('delegated_tools') ? names(fields, 'delegated_tools', 1_000) : null,
    client: clientOf(fields, clientHeader),
    impersonate: optionalName(fields, 'impersonate_uid'),
    acceptsModifiedInput: fields.has('accepts') && names(fields, 'accepts', 20).includes('modified_input'),
  };
}

export function parseHookOutputRequest(body: unknown, clientHeader: string | undefined): HookOutputRequest {
  const fields = bodyOf(body);
  if (!fields.has('tool_output')) fail('tool_output', 'is required');
  const output = fields.get('tool_output');
  const bytes = Buffer.byteLength(jsonOf(output, 'tool_output'));
  if (bytes > bounds.toolOutputBytes) fail('tool_output', `must be at most ${bounds.toolOutputBytes} bytes of JSON, is ${bytes}`);
  const isError = fields.get('is_error') ?? false;
  if (typeof isError !== 'boolean') fail('is_error', 'must be true or false');
  return { ...parseHookRequest(body, clientHeader), output, isError: isError === true };
}

/** Any JSON within our bounds. */
function jsonField(fields: Body, name: string): unknown {
  const value = fields.get(name) ?? null;
  jsonOf(value, name);
  return value;
}

/** Canonical JSON of a field, or a refusal that names it. */
function jsonOf(value: unknown, path: string): string {
  try {
    return canonicalJson(value);
  } catch (error) {
    if (error instanceof NotJson) return fail(path, error.message);
    throw error;
  }
}

function bodyOf(body: unknown): Body {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return fail('the body', 'must be a JSON object');
  return new Map(Object.entries(body));
}

function requiredText(fields: Body, name: string): string {
  const value = fields.get(name);
  if (value === undefined) return fail(name, 'is required');
  return typeof value === 'string' ? value : fail(name, 'must be text');
}

function requiredName(fields: Body, name: string): string {
  const value = requiredText(fields, name);
  const problem = nameProblem(value);
  return problem === null ? value : fail(name, problem);
}

function optionalName(fields: Body, name: string): string | null {
  return fields.get(name) == null ? null : requiredName(fields, name);
}

function names(fields: Body, name: string, max: number): readonly string[] {
  const value = fields.get(name);
  if (!Array.isArray(value)) return fail(name, 'must be a list of names');
  if (value.length > max) return fail(name, `must hold at most ${max} names`);
  return value.map((item: unknown, at) => {
    const problem = typeof item === 'string' ? nameProblem(item) : 'must be text';
    return typeof item === 'string' && problem === null ? item : fail(`${name}[${at}]`, problem ?? 'must be text');
  });
}

/** As the client says; else what its mode of running implies. */
function tierOf(fields: Body): Tier {
  const claimed = fields.get('agent_tier');
  if (claimed != null) return isTier(claimed) ? claimed : fail('agent_tier', 'must be interactive, subagent, background or api');
  if (fields.get('permission_mode') === 'bypassPermissions' || fields.get('ci') === true) return 'background';
  return fields.get('agent_id') == null ? 'interactive' : 'subagent';
}

function chainOf(fields: Body, agentName: string): readonly string[] {
  const claimed = fields.get('agent_chain') == null ? [] : names(fields, 'agent_chain', 64);
  return claimed.at(-1) === agentName ? claimed : [...claimed, agentName];
}

function clientOf(fields: Body, header: string | undefined): HookRequest['client'] {
  const claimed = fields.get('client');
  if (claimed == null) return headerClient(header);
  if (typeof claimed !== 'object' || Array.isArray(claimed)) return fail('client', 'must be an object with a name');
  const client = new Map(Object.entries(claimed));
  const name = requiredIn('client', client, 'name');
  return client.get('version') == null ? { name } : { name, version: requiredIn('client', client, 'version') };
}

function requiredIn(path: string, fields: Body, name: string): string {
  const value = fields.get(name);
  const problem = typeof value === 'string' ? nameProblem(value) : 'must be text';
  return typeof value === 'string' && problem === null ? value : fail(childPath(path, name), problem ?? 'must be text');
}

/** `X-GS-Client: name/version`. */
function headerClient(header: string | undefined): HookRequest['client'] {
  if (header === undefined || header === '') return { name: 'hook' };
  const slash = header.indexOf('/');
  const name = slash < 0 ? header : header.slice(0, slash);
  const version = slash < 0 ? '' : header.slice(slash + 1);
  const problem = nameProblem(name) ?? (version === '' ? null : nameProblem(version));
  if (problem !== null) return fail('X-GS-Client', problem);
  return version === '' ? { name } : { name, version };
}
