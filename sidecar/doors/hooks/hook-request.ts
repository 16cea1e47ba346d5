// Parses the requests of the hook protocol, once and completely. Unknown fields are allowed. The first known field
// with an error becomes the flaw. The call is denied because of the flaw, and the entry shows the rest of the call as
// far as possible. A schema is not used, because the rest of a flawed request must be read too, and because this code
// runs for each call.
import { bounds, childPath, isTier, nameProblem, type Tier } from '@tollgate/proto/contract';
import type { Flaw } from '../../engine/govern/govern.ts';
import { centsMax, isCents } from '../../engine/limits/costs.ts';
import type { ClaimedCall } from '../sessions/pending-calls.ts';
import type { CallerClaim } from '../sessions/sessions.ts';
import { shownName } from '../shown-name.ts';
import type { HookBody } from './hook-body.ts';

interface HookCaller extends CallerClaim {
  /** The user that the request names. Null: it names none, or the request has a flaw. */
  readonly impersonate: string | null;
}

export interface HookRequest extends HookCaller, ClaimedCall {
  /** True: the client can replace the input with a redacted one, and the numbers keep their precision. */
  readonly takesModifiedInput: boolean;
  /** How long the client waits for the answer of a person, in ms. 0: it does not wait. */
  readonly waitMs: number;
  readonly flaw: Flaw | null;
}

export interface HookOutputRequest extends HookRequest {
  readonly output: unknown;
  readonly isError: boolean;
}

export type CostAction = 'reserve' | 'settle';

export interface HookCostRequest extends HookCaller {
  readonly action: CostAction;
  /** The client's own id for the cost. */
  readonly costId: string;
  readonly cents: number;
  /** The smallest amount that the client accepts. */
  readonly leastCents: number;
  readonly flaw: Flaw | null;
}

/** The longest lists of names. */
export const listMax = { accepts: 20, delegatedTools: 1_000, chain: 64 } as const;

// Parsed JSON. A missing key gives `undefined`. Keys that every object has, such as `toString`, are not read here.
type Body = Readonly<Record<string, unknown>>;

interface Reading {
  readonly fields: Body;
  /** The first problem of the request. Null: none was found yet. */
  flaw: Flaw | null;
}

/** Parses a request to `tool-use`. `session`: the session to use if the client names none. */
export function readHookRequest(body: HookBody, clientHeader: string | undefined, session: string): HookRequest {
  return requestOf(begin(body), body, clientHeader, session);
}

/** Parses a request to `tool-output`. `bytes`: the size of the whole body. */
export function readHookOutputRequest(body: HookBody, clientHeader: string | undefined, session: string, bytes: number): HookOutputRequest {
  const reading = begin(body);
  const output = reading.fields['tool_output'];
  if (output === undefined) fail(reading, 'tool_output', 'is required');
  // If the whole body is within the limit, its output is too.
  const outputBytes = bytes <= bounds.toolOutputBytes ? 0 : Buffer.byteLength(JSON.stringify(output ?? null));
  if (outputBytes > bounds.toolOutputBytes)
    reading.flaw ??= {
      code: 'input_too_large',
      words: `tool_output must be at most ${bounds.toolOutputBytes} bytes of JSON, is ${outputBytes}`,
    };
  const isError = reading.fields['is_error'] ?? false;
  if (typeof isError !== 'boolean') fail(reading, 'is_error', 'must be true or false');
  const hook = requestOf(reading, body, clientHeader, session);
  return { ...hook, output: output ?? null, isError: isError === true };
}

/** Parses a request to `cost`. Costs belong to a session, so the client must name one. */
export function readHookCostRequest(body: HookBody, clientHeader: string | undefined): HookCostRequest {
  const reading = begin(body);
  const { fields } = reading;
  const action = fields['action'];
  if (action !== 'reserve' && action !== 'settle') fail(reading, 'action', 'must be "reserve" or "settle"');
  const costId = nameIn(reading, 'cost_id', fields['cost_id']);
  const cents = centsIn(reading, 'cents', fields['cents']);
  const leastCents = fields['least_cents'] == null ? cents : centsIn(reading, 'least_cents', fields['least_cents']);
  if (fields['session_id'] == null || fields['session_id'] === '') fail(reading, 'session_id', 'is required');
  const caller = callerIn(reading, clientHeader, '');
  const { flaw } = reading;
  return { ...withoutFlawed(caller, flaw), action: action === 'settle' ? action : 'reserve', costId, cents, leastCents, flaw };
}

function centsIn(reading: Reading, path: string, value: unknown): number {
  if (isCents(value)) return value;
  fail(reading, path, `must be a number of cents from 0 to ${centsMax}`);
  return 0;
}

const isBody = (value: unknown): value is Body => typeof value === 'object' && value !== null && !Array.isArray(value);

function begin({ value, flaw }: HookBody): Reading {
  if (isBody(value)) return { fields: value, flaw };
  return { fields: {}, flaw: flaw ?? { code: 'call_malformed', words: 'the body must be a JSON object' } };
}

function fail(reading: Reading, path: string, problem: string): void {
  reading.flaw ??= { code: 'call_malformed', words: `${path} ${problem}` };
}

function requestOf(reading: Reading, body: HookBody, clientHeader: string | undefined, session: string): HookRequest {
  const { fields } = reading;
  const tool = nameIn(reading, 'tool_name', fields['tool_name']);
  const caller = callerIn(reading, clientHeader, session);
  const callId = optionalName(reading, 'call_id');
  const accepts = fields['accepts'] == null ? [] : names(reading, 'accepts', listMax.accepts);
  const waitMs = waitIn(reading);
  const { flaw } = reading;
  return {
    ...withoutFlawed(caller, flaw),
    tool,
    callId,
    // This JSON value was parsed strictly with the body. It is not deeper than an input may be.
    input: fields['tool_input'] ?? null,
    // The JSON of a number that a double would round is a string, and the tool expects a number.
    takesModifiedInput: accepts.includes('modified_input') && !body.hasInexactNumbers,
    waitMs: flaw === null ? waitMs : 0,
    flaw,
  };
}

/** Reads who calls. `session`: the session to use if the client names none. */
function callerIn(reading: Reading, clientHeader: string | undefined, session: string): HookCaller {
  const { fields } = reading;
  const agentName = optionalName(reading, 'agent_name') ?? '';
  return {
    sessionId: optionalName(reading, 'session_id') ?? session,
    tier: tierOf(reading),
    chain: chainOf(reading, agentName),
    delegatedTools: fields['delegated_tools'] == null ? null : names(reading, 'delegated_tools', listMax.delegatedTools),
    client: clientOf(reading, clientHeader),
    // An empty user is an error. If it were ignored, the call would be decided for the key's own identity.
    impersonate: fields['impersonate_uid'] == null ? null : nameIn(reading, 'impersonate_uid', fields['impersonate_uid']),
  };
}

/** Returns the caller without its delegated tools and its user, if the request has a flaw. */
const withoutFlawed = (caller: HookCaller, flaw: Flaw | null): HookCaller =>
  flaw === null ? caller : { ...caller, delegatedTools: null, impersonate: null };

/** The longest time that a client of this endpoint may wait. Many proxies end a request after a minute. */
export const waitMsMax = 50_000;

function waitIn(reading: Reading): number {
  const value = reading.fields['wait_ms'] ?? 0;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= waitMsMax) return value;
  fail(reading, 'wait_ms', `must be a whole number from 0 to ${waitMsMax}`);
  return 0;
}

/** Returns a name. If it is invalid, notes the flaw and returns the part of it that can be shown. */
function nameIn(reading: Reading, path: string, value: unknown): string {
  if (typeof value !== 'string') {
    fail(reading, path, value === undefined ? 'is required' : 'must be text');
    return '';
  }
  const problem = nameProblem(value);
  if (problem !== null) fail(reading, path, problem);
  return problem === null ? value : shownName(value);
}

/** Returns null if there is no name. Clients also send null or an empty text for a value that they do not know. */
const optionalName = (reading: Reading, name: string): string | null =>
  reading.fields[name] == null || reading.fields[name] === '' ? null : nameIn(reading, name, reading.fields[name]);

/** Returns the valid names of a list. Invalid items are left out. */
function names(reading: Reading, name: string, max: number): readonly string[] {
  const value = reading.fields[name];
  if (!Array.isArray(value)) {
    fail(reading, name, 'must be a list of names');
    return [];
  }
  if (value.length > max) fail(reading, name, `must contain at most ${max} names`);
  return value.slice(0, max).flatMap((item: unknown, at) => {
    const problem = typeof item === 'string' ? nameProblem(item) : 'must be text';
    if (problem !== null) fail(reading, `${name}[${at}]`, problem);
    return typeof item === 'string' && problem === null ? [item] : [];
  });
}

/** Returns the tier that the client states, otherwise the tier that follows from the client's mode. */
function tierOf(reading: Reading): Tier {
  const { fields } = reading;
  const claimed = fields['agent_tier'];
  if (isTier(claimed)) return claimed;
  if (claimed != null) fail(reading, 'agent_tier', 'must be "interactive", "subagent", "background" or "api"');
  if (fields['permission_mode'] === 'bypassPermissions' || fields['ci'] === true) return 'background';
  return fields['agent_id'] == null ? 'interactive' : 'subagent';
}

function chainOf(reading: Reading, agentName: string): readonly string[] {
  const before = reading.flaw;
  const claimed = reading.fields['agent_chain'] == null ? [] : names(reading, 'agent_chain', listMax.chain);
  // If the chain is invalid, the entry names only the caller itself.
  if (reading.flaw !== before) return [agentName];
  return claimed.at(-1) === agentName ? claimed : [...claimed, agentName];
}

function clientOf(reading: Reading, header: string | undefined): HookRequest['client'] {
  const claimed = reading.fields['client'];
  if (claimed == null) return headerClient(reading, header);
  if (typeof claimed !== 'object' || Array.isArray(claimed)) {
    fail(reading, 'client', 'must be an object with the field "name"');
    return unnamedClient;
  }
  const { name: claimedName, version }: Body = { ...claimed };
  const name = nameIn(reading, childPath('client', 'name'), claimedName);
  return {
    name: name === '' ? unnamedClient.name : name,
    ...(version == null ? {} : { version: nameIn(reading, childPath('client', 'version'), version) }),
  };
}

const unnamedClient = { name: 'hook' };

/**
 * Parses `X-GS-Client: name/version`. The name may contain slashes, like the name of a package, so the last slash
 * separates the version.
 */
function headerClient(reading: Reading, header: string | undefined): HookRequest['client'] {
  if (header === undefined || header === '') return unnamedClient;
  const slash = header.lastIndexOf('/');
  const name = nameIn(reading, 'X-GS-Client', slash < 0 ? header : header.slice(0, slash));
  const version = slash < 0 ? '' : header.slice(slash + 1);
  return {
    name: name === '' ? unnamedClient.name : name,
    ...(version === '' ? {} : { version: nameIn(reading, 'X-GS-Client', version) }),
  };
}
