// The two requests of the hook protocol, parsed once and strictly. Unknown fields are tolerated; a known field of a
// wrong type is an error that names it.
import { AppError, bounds, canonicalJson, childPath, isTier, NotJson, nameProblem, type Tier } from '@tollgate/proto/contract';
import type { ClaimedCall } from '../sessions/pending-calls.ts';
import type { Claimed } from '../sessions/sessions.ts';

export interface HookRequest extends Claimed, ClaimedCall {
  readonly impersonate: string | null;
  readonly acceptsModifiedInput: boolean;
}

export interface HookOutputRequest extends HookRequest {
  readonly output: unknown;
  readonly isError: boolean;
}

const fail = (path: string, message: string): never => {
  throw new AppError({ code: 'bad_request', publicMessage: `${path} ${message}` });
};

// As JSON was read: what it does not say is `undefined`, but for what every object has, which nobody asks for here.
type Body = Readonly<Record<string, unknown>>;

/** `session`: that of a client which names none. */
export function parseHookRequest(body: unknown, clientHeader: string | undefined, session: string): HookRequest {
  const fields = bodyOf(body);
  const agentName = optionalName(fields, 'agent_name') ?? '';
  return {
    tool: requiredText(fields, 'tool_name'),
    // JSON as the body was: read strictly, and no deeper than an input may be.
    input: fields['tool_input'] ?? null,
    sessionId: optionalName(fields, 'session_id') ?? session,
    callId: optionalName(fields, 'call_id'),
    tier: tierOf(fields),
    chain: chainOf(fields, agentName),
    delegatedTools: fields['delegated_tools'] !== undefined ? names(fields, 'delegated_tools', 1_000) : null,
    client: clientOf(fields, clientHeader),
    impersonate: optionalName(fields, 'impersonate_uid'),
    acceptsModifiedInput: fields['accepts'] !== undefined && names(fields, 'accepts', 20).includes('modified_input'),
  };
}

export function parseHookOutputRequest(body: unknown, clientHeader: string | undefined, session: string): HookOutputRequest {
  const fields = bodyOf(body);
  if (fields['tool_output'] === undefined) fail('tool_output', 'is required');
  const output = fields['tool_output'];
  const bytes = Buffer.byteLength(jsonOf(output, 'tool_output'));
  if (bytes > bounds.toolOutputBytes) fail('tool_output', `must be at most ${bounds.toolOutputBytes} bytes of JSON, is ${bytes}`);
  const isError = fields['is_error'] ?? false;
  if (typeof isError !== 'boolean') fail('is_error', 'must be true or false');
  return { ...parseHookRequest(body, clientHeader, session), output, isError: isError === true };
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
  return { ...body };
}

function requiredText(fields: Body, name: string): string {
  const value = fields[name];
  if (value === undefined) return fail(name, 'is required');
  return typeof value === 'string' ? value : fail(name, 'must be text');
}

function requiredName(fields: Body, name: string): string {
  const value = requiredText(fields, name);
  const problem = nameProblem(value);
  return problem === null ? value : fail(name, problem);
}

function optionalName(fields: Body, name: string): string | null {
  return fields[name] == null ? null : requiredName(fields, name);
}

function names(fields: Body, name: string, max: number): readonly string[] {
  const value = fields[name];
  if (!Array.isArray(value)) return fail(name, 'must be a list of names');
  if (value.length > max) return fail(name, `must hold at most ${max} names`);
  return value.map((item: unknown, at) => {
    const problem = typeof item === 'string' ? nameProblem(item) : 'must be text';
    return typeof item === 'string' && problem === null ? item : fail(`${name}[${at}]`, problem ?? 'must be text');
  });
}

/** As the client says; else what its mode of running implies. */
function tierOf(fields: Body): Tier {
  const claimed = fields['agent_tier'];
  if (claimed != null) return isTier(claimed) ? claimed : fail('agent_tier', 'must be interactive, subagent, background or api');
  if (fields['permission_mode'] === 'bypassPermissions' || fields['ci'] === true) return 'background';
  return fields['agent_id'] == null ? 'interactive' : 'subagent';
}

function chainOf(fields: Body, agentName: string): readonly string[] {
  const claimed = fields['agent_chain'] == null ? [] : names(fields, 'agent_chain', 64);
  return claimed.at(-1) === agentName ? claimed : [...claimed, agentName];
}

function clientOf(fields: Body, header: string | undefined): HookRequest['client'] {
  const claimed = fields['client'];
  if (claimed == null) return headerClient(header);
  if (typeof claimed !== 'object' || Array.isArray(claimed)) return fail('client', 'must be an object with a name');
  const client: Body = { ...claimed };
  const name = requiredIn('client', client, 'name');
  return client['version'] == null ? { name } : { name, version: requiredIn('client', client, 'version') };
}

function requiredIn(path: string, fields: Body, name: string): string {
  const value = fields[name];
  const problem = typeof value === 'string' ? nameProblem(value) : 'must be text';
  return typeof value === 'string' && problem === null ? value : fail(childPath(path, name), problem ?? 'must be text');
}

/** `X-GS-Client: name/version`; the name may be that of a package, with a slash in it. */
function headerClient(header: string | undefined): HookRequest['client'] {
  if (header === undefined || header === '') return { name: 'hook' };
  const slash = header.lastIndexOf('/');
  const name = slash < 0 ? header : header.slice(0, slash);
  const version = slash < 0 ? '' : header.slice(slash + 1);
  const problem = nameProblem(name) ?? (version === '' ? null : nameProblem(version));
  if (problem !== null) return fail('X-GS-Client', problem);
  return version === '' ? { name } : { name, version };
}
