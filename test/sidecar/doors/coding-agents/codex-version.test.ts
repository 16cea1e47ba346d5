// Codex accepts a changed input from 0.169.0 on. An older version would run the call with the original input.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codex } from '../../../../proto/hosts/codex.ts';
import { agent, ruleFor, type World } from '../../../support/snapshots.ts';
import { recorded, startHosts } from './recorded.ts';

const world: World = { agents: [agent({ id: 'other', name: 'other' })], documents: [ruleFor('Bash', { transform: 'redact' })] };
const input = recorded.find(({ host, name }) => host === 'codex' && name === 'pre-bash')?.input ?? {};

const askAs = async (version: string | null) => {
  const { ask, sidecar } = await startHosts(world);
  const answer = await ask('codex', input, version === null ? {} : { 'x-tollgate-host-version': version });
  return { ...answer, entries: await sidecar.entries() };
};

test.each(['0.169.0', '0.169.1', '0.170.0-alpha.2', '1.0.0', '12.0.4'])(
  '%s receives the redacted input, and its version is recorded',
  async (version) => {
    const { kind, text, entries } = await askAs(version);
    expect(kind).toBe('change');
    expect(JSON.parse(text)).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'allow',
        updatedInput: { command: expect.stringContaining('[redacted:email#1]') },
      },
    });
    expect(text).not.toContain('bob@');
    expect(entries).toMatchObject([{ client: { name: 'codex', version } }]);
  },
);

test.each([
  null,
  '',
  '0.168.9',
  '0.169.0-alpha.1',
  '0.147.0',
  '0.169',
  'v0.169.0',
  'codex-cli 0.169.0',
  '0.169.0, 0.169.0',
  '9999999.0.0',
  `0.169.${'0'.repeat(60)}`,
])('%j is denied', async (version) => {
  const { kind, text } = await askAs(version);
  expect(kind).toBe('deny');
  expect(codex.before.denies(text)).toBe(true);
  expect(text).toContain('redaction_unsupported');
});

test('a version is compared by its numbers, and a prerelease is older than its release', () => {
  const isTaken = (version: string): boolean => {
    const event = codex.read(input, (text) => text, version);
    return event.phase === 'before' && event.replacesInput;
  };
  const part = fc.oneof(fc.integer({ min: 0, max: 999_999 }), fc.constantFrom(0, 1, 168, 169, 170));
  fc.assert(
    fc.property(part, part, part, fc.constantFrom('', '-alpha.1'), (major, minor, patch, suffix) => {
      const number = (major * 1e6 + minor) * 1e6 + patch;
      const least = 169e6;
      expect(isTaken(`${major}.${minor}.${patch}${suffix}`)).toBe(suffix === '' ? number >= least : number > least);
    }),
  );
});

test("a changed input without the command that Codex's own tools read is not sent to it", () => {
  const event = codex.read(input, (text) => text, '0.169.0');
  if (event.phase !== 'before') throw new Error('it is no call');
  expect(codex.before.takes(event, { command: 'ls' })).toBe(true);
  for (const changed of [{}, { command: ['ls'] }, { cmd: 'ls' }, 'ls', ['ls'], null])
    expect(codex.before.takes(event, changed)).toBe(false);
  const mcp = { ...event, call: { ...event.call, input: { repo: 'a' } } };
  expect(codex.before.takes(mcp, { repo: 'b' })).toBe(true);
});
