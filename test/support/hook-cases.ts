// Errors that a client with a valid key may make at `/govern/tool-use` and `/govern/tool-output`: for each body the
// denial, and the content of its entry. All of them are answered 200; `former` is the former answer.
import { bounds } from '@tollgate/proto/contract';

export interface HookCase {
  readonly name: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly code: 'call_malformed' | 'input_too_large';
  /** Of the reason, after its code. */
  readonly words: RegExp;
  /** The tool of the entry; absent: empty, because nothing could be read. */
  readonly tool?: string;
  /** Further fields of the entry. */
  readonly recorded?: Readonly<Record<string, unknown>>;
  readonly former: 200 | 400 | 413 | 415;
}

const call = { tool_name: 'mail.send', tool_input: { to: 'bob' }, session_id: 's1', agent_name: 'bot' };
const of = (fields: object): string => JSON.stringify({ ...call, tool_output: 'done', ...fields });
const begun = '{"tool_name":"mail.send","tool_output":"done","session_id":"s1",';
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

const malformed = (name: string, body: HookCase['body'], words: RegExp, more: Partial<HookCase> = {}): HookCase => ({
  name,
  body,
  words,
  code: 'call_malformed',
  former: 400,
  ...more,
});

/** With fields of a wrong type, the tool is known. */
const wrong = (name: string, fields: object, words: RegExp, recorded: HookCase['recorded'] = {}): HookCase =>
  malformed(name, of(fields), words, { tool: 'mail.send', recorded });

const unparsed: readonly HookCase[] = [
  malformed('no body', '', /^the body is empty$/),
  malformed('a body that breaks off', '{"tool_name":"mail.send","tool_inp', /^the body is not one JSON value/, { tool: 'mail.send' }),
  malformed('a body that breaks off in the name', '{"tool_name" : "mail.se', /^the body is not one JSON value/, { tool: 'mail.se' }),
  malformed('a name with escapes in what is no JSON', '{"tool_name":"a\\u0000b\\n"', /^the body is not one JSON value/, {
    tool: 'a\\u0000b\\u000a',
  }),
  malformed('a list', '[]', /^the body must be a JSON object$/),
  malformed('text', '"mail.send"', /^the body must be a JSON object$/),
  malformed('null', 'null', /^the body must be a JSON object$/),
  malformed('a body nested too deep', `${begun}"tool_input":${nested(65)}}`, /^the body is nested deeper than 65$/, { tool: 'mail.send' }),
  malformed('a body nested 100,000 deep', `${begun}"tool_input":${nested(100_000)}}`, /^the body is nested deeper than 65$/, {
    tool: 'mail.send',
  }),
  malformed('an unpaired surrogate', `${begun}"tool_input":"\\ud800"}`, /^the body holds half of a surrogate pair \(at position \d+\)$/, {
    tool: 'mail.send',
  }),
  malformed('an unpaired surrogate in the name', '{"tool_name":"a\\ud800b"}', /^the body holds half of a surrogate pair/, {
    tool: 'a\\ud800b',
  }),
  malformed('a key twice', '{"tool_name":"t","tool_name":"u"}', /^the body names a key twice \(at position 17\)$/, { tool: 't' }),
  malformed('a key twice, once with an escape', '{"tool_name":"t","tool\\u005fname":"u"}', /^the body names a key twice/, { tool: 't' }),
  malformed('a key __proto__', `${begun}"tool_input":{"__proto__":{"a":1}}}`, /^the body has a key "__proto__"/, { tool: 'mail.send' }),
  malformed('an escaped key __proto__', `${begun}"tool_input":{"\\u005f_proto__":1}}`, /^the body has a key "__proto__"/, {
    tool: 'mail.send',
  }),
  malformed('bytes that are not UTF-8', bytes('{"tool_name":"t","tool_input":"\xff"}'), /^the body is not UTF-8$/, { tool: 't' }),
  malformed('a byte order mark', bytes('\xef\xbb\xbf{"tool_name":"t"}'), /byte order mark/, { tool: 't' }),
  malformed('text behind the value', '{"tool_name":"t"} {"tool_name":"u"}', /^the body is not one JSON value/, { tool: 't' }),
  ...['text/xml', 'application/json; charset=utf-16', 'application/jsonp', 'nonsense'].map((type) =>
    malformed(`the content type ${type}`, of({}), /^the body must be application\/json in UTF-8$/, {
      headers: { 'content-type': type },
      former: 415,
      ...(type === 'nonsense' ? {} : { tool: 'mail.send' }),
    }),
  ),
];

const fields: readonly HookCase[] = [
  malformed('no tool', '{"session_id":"s1","tool_output":1}', /^tool_name is required$/, { recorded: { sessionId: 's1' } }),
  malformed('a tool that is a number', of({ tool_name: 7 }), /^tool_name must be text$/),
  malformed('an empty name of a tool', of({ tool_name: '' }), /^tool_name must not be empty$/),
  malformed('a tool with a blank at its end', of({ tool_name: 'mail.send ' }), /^tool_name must not begin or end with a blank$/, {
    tool: 'mail.send ',
  }),
  malformed('a tool with control characters', of({ tool_name: 'a\u0000b\u001b[2J' }), /^tool_name must hold no control/, {
    tool: 'a\\u0000b\\u001b[2J',
  }),
  malformed('a tool with what is not seen', of({ tool_name: 'mail\u200b.send\u{e0001}' }), /^tool_name must hold no control/, {
    tool: 'mail\\u200b.send\\u{e0001}',
  }),
  malformed('a tool of 201 characters', of({ tool_name: 'x'.repeat(201) }), /^tool_name must be at most 200 characters, is 201$/, {
    tool: `${'x'.repeat(199)}…`,
  }),
  malformed('a tool of 500,000 characters', of({ tool_name: '\u0000'.repeat(80_000) }), /^tool_name must be at most 200/, {
    tool: `${'\\u0000'.repeat(33)}…`,
  }),
  wrong('a session with NUL', { session_id: 'a\u0000b' }, /^session_id must hold no control/, { sessionId: 'a\\u0000b' }),
  wrong('a session that is a number', { session_id: 7 }, /^session_id must be text$/, { sessionId: '' }),
  wrong('a call id that is a list', { call_id: [] }, /^call_id must be text$/),
  wrong('an agent with a control character', { agent_name: 'a\u0007b' }, /^agent_name must hold no control/, { agentName: 'a\\u0007b' }),
  wrong('an agent of 201 characters', { agent_name: 'a'.repeat(201) }, /^agent_name must be at most 200/, {
    agentName: `${'a'.repeat(199)}…`,
  }),
  wrong('an unknown tier', { agent_tier: 'root' }, /^agent_tier must be "interactive", "subagent", "background" or "api"$/),
  wrong('a tier named as a prototype property', { agent_tier: 'constructor' }, /^agent_tier must be/),
  wrong('a chain that is no list', { agent_chain: 'bot' }, /^agent_chain must be a list of names$/),
  wrong('a chain with a number', { agent_chain: ['bot', 1] }, /^agent_chain\[1\] must be text$/),
  wrong('a chain of 65', { agent_chain: Array.from({ length: 65 }, (_, at) => `a${at}`) }, /^agent_chain must contain at most 64 names$/),
  wrong('handed-down tools that are text', { delegated_tools: 'mail.send' }, /^delegated_tools must be a list of names$/),
  wrong('a client without a name', { client: { version: '1' } }, /^client\.name is required$/),
  wrong('a client that is a list', { client: [] }, /^client must be an object with the field "name"$/, { client: { name: 'hook' } }),
  wrong('an impersonated number', { impersonate_uid: 5 }, /^impersonate_uid must be text$/),
  wrong('another user, and an invalid tier', { impersonate_uid: 'bob', agent_tier: 7 }, /^agent_tier must be/),
  wrong('accepts that is text', { accepts: 'modified_input' }, /^accepts must be a list of names$/),
  malformed('a header with a control character', of({}), /^X-GS-Client must hold no control/, {
    headers: { 'x-gs-client': 'a\tb/1' },
    tool: 'mail.send',
    recorded: { client: { name: 'a\\u0009b', version: '1' } },
  }),
];

/** At both endpoints. */
export const hookCases: readonly HookCase[] = [...unparsed, ...fields];

/** A request of this many bytes. */
export function paddedTo(size: number): string {
  const head = '{"tool_name":"t","session_id":"s","tool_output":1,"pad":"';
  return `${head}${'x'.repeat(size - head.length - 2)}"}`;
}

export const useCases: readonly HookCase[] = [
  malformed('an input of too many values', `${begun}"tool_input":[${'0,'.repeat(100_001)}0]}`, /^the body has more than 100000 values$/, {
    tool: 'mail.send',
  }),
  {
    name: 'one byte more than 1 MiB',
    body: paddedTo(bounds.bodyBytes + 1),
    code: 'input_too_large',
    words: /^the body must be at most 1048576 bytes$/,
    former: 413,
  },
];

const quotes = 2;

export const outputCases: readonly HookCase[] = [
  malformed('no output', JSON.stringify(call), /^tool_output is required$/, { tool: 'mail.send' }),
  wrong('a failure that is no flag', { is_error: 'no' }, /^is_error must be true or false$/),
  {
    name: 'an output of one byte more than 8 MiB',
    body: of({ tool_output: 'x'.repeat(bounds.toolOutputBytes + 1 - quotes) }),
    code: 'input_too_large',
    words: /^tool_output must be at most 8388608 bytes of JSON, is 8388609$/,
    tool: 'mail.send',
    former: 400,
  },
  {
    name: 'a body of one byte more than 9 MiB',
    body: paddedTo(bounds.outputBodyBytes + 1),
    code: 'input_too_large',
    words: /^the body must be at most 9437184 bytes$/,
    former: 413,
  },
];
