// The command that asks about a call again: bash reads from it exactly the call, whatever the agent wrote.
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { curlOf } from '../../../console/calls/curl.ts';
import { entryOf } from './entries.ts';

const origin = 'https://tollgate.example.com';

/** The arguments with which bash would start curl. */
function argumentsOf(command: string): readonly string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}\n`;
  const env = { KEY: 'the key', PATH: '/nowhere' };
  const printed = execFileSync('/bin/bash', ['--noprofile', '--norc', '-c', script], { env, encoding: 'utf8' });
  return printed.split('\0').slice(0, -1);
}

const hostile = [
  `'; touch /tmp/owned; '`,
  `'"'"'`,
  '$(id)',
  '`id`',
  '${KEY}',
  '\\',
  "\\'",
  '!!',
  'a\nb\r\nc',
  '\u001b[31mred\u001b[0m',
  '\u202eexe.pdf',
  '\u0000',
  '\u2028',
  'Größe 数 😀 \ud800',
  '\u007f\u009b',
] as const;
const text = fc.oneof(
  fc.constantFrom(...hostile),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
);

describe('the command that asks about a call again', () => {
  test('its body is the call, through a real shell, and it is printable', () => {
    const input = fc.oneof(
      text,
      fc.dictionary(text, fc.oneof(text, fc.integer(), fc.constant(null)), { maxKeys: 4, noNullPrototype: true }),
    );
    fc.assert(
      fc.property(text, text, text, text, input, fc.array(text, { maxLength: 3 }), (tool, agentName, sessionId, client, value, chain) => {
        const entry = entryOf('r1', { tool, agentName, sessionId, client: { name: client }, chain, input: value });
        const command = curlOf(entry, origin) ?? '';
        expect(command).toMatch(/^[\x20-\x7e\n]+$/);
        const [, authorization, , contentType, url, flag, body, ...more] = argumentsOf(command).slice(1);
        expect([authorization, contentType, url, flag, more]).toEqual([
          'Authorization: Bearer the key',
          'Content-Type: application/json',
          `${origin}/govern/tool-use`,
          '-d',
          [],
        ]);
        expect(JSON.parse(body ?? '')).toEqual({
          tool_name: tool,
          tool_input: value,
          session_id: sessionId,
          ...(agentName === '' ? {} : { agent_name: agentName }),
          agent_chain: chain,
          agent_tier: 'api',
          client: { name: client },
        });
      }),
      { numRuns: 60 },
    );
  });

  test('none, if the input was not kept whole or is long', () => {
    expect(curlOf(entryOf('r1'), origin)).toBeNull();
    expect(curlOf(entryOf('r1', { input: 'abc', inputCut: true }), origin)).toBeNull();
    expect(curlOf(entryOf('r1', { input: 'x'.repeat(100_000) }), origin)).toBeNull();
    expect(curlOf(entryOf('r1', { input: 'x'.repeat(90_000) }), origin)).not.toBeNull();
    expect(curlOf(entryOf('r1', { input: null }), origin)).not.toBeNull();
  });
});
