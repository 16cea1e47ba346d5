// Redaction at the doors: what the tool gets, what the model gets, what is stored.
import { type CompiledRedaction, canonicalJson, digestText, plainRedaction } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import { type Run, startRun } from '../../../../sidecar/doors/library/library.ts';
import { ToolDenied } from '../../../../sidecar/engine/govern/verdict.ts';
import { createTestServer, createTestSidecar, type TestSidecar } from '../../../support/governing.ts';
import { agent, document, keyText, ruleFor, settings } from '../../../support/snapshots.ts';

const redacting = (redaction: Partial<CompiledRedaction> = {}) => ({
  documents: [ruleFor('mail.send', { transform: 'redact' })],
  settings: settings({ redaction: { ...plainRedaction, ...redaction } }),
});
const run = (sidecar: TestSidecar): Run => startRun(sidecar, { agent: 'bot', tier: 'interactive' });
const ann = 'ann.meyer@acme-mail.eu';
const bob = 'bob.ortiz@acme-mail.eu';

/** Returns what the guarded tool received and what its caller saw of an echo. */
async function echoed(own: Run, input: unknown): Promise<{ readonly got: unknown; readonly seen: unknown }> {
  const got: unknown[] = [];
  const seen = await own.guard('mail.send', (value: unknown) => {
    got.push(value);
    return { echo: value };
  })(input);
  return { got: got[0], seen };
}

describe('the marks of a run', () => {
  test('are numbered by first appearance, and equal for the same value in every call, input and output alike', async () => {
    const own = run(await createTestSidecar({ world: redacting() }));
    expect(await echoed(own, { a: ann, b: [bob, ann] })).toEqual({
      got: { a: '[redacted:email#1]', b: ['[redacted:email#2]', '[redacted:email#1]'] },
      seen: { echo: { a: '[redacted:email#1]', b: ['[redacted:email#2]', '[redacted:email#1]'] } },
    });
    expect((await echoed(own, { to: bob })).got).toEqual({ to: '[redacted:email#2]' });
  });

  test('continue above the numbers that a text already contains', async () => {
    const own = run(await createTestSidecar({ world: redacting() }));
    expect((await echoed(own, { about: 'as [redacted:email#7] said', to: ann })).got).toEqual({
      about: 'as [redacted:email#7] said',
      to: '[redacted:email#8]',
    });
  });

  test('mean the same in the runs that it delegates to, and start again in another run', async () => {
    const sidecar = await createTestSidecar({ world: { ...redacting(), agents: [agent(), agent({ id: 'agent-2', name: 'helper' })] } });
    const own = run(sidecar);
    await echoed(own, { to: ann });
    expect((await echoed(own.delegate('helper'), { to: [bob, ann] })).got).toEqual({ to: ['[redacted:email#2]', '[redacted:email#1]'] });
    expect((await echoed(run(sidecar), { to: bob })).got).toEqual({ to: '[redacted:email#1]' });
  });
});

describe('the settings of a workspace', () => {
  test('for disabled kinds, own patterns, values by digest and tools with exceptions apply to payload and entry', async () => {
    const documents = ['mail.send', 'mail.read'].map((tool) => ruleFor(tool, { transform: 'redact' }));
    const merged = { ...document(), tools: documents.flatMap(({ tools }) => tools).toSorted(([a], [b]) => (a < b ? -1 : 1)) };
    const redaction: CompiledRedaction = {
      off: ['ip_address'],
      patterns: [['employee_number', 'EMP-[0-9]{6}']],
      allow: [digestText(bob)],
      exceptions: [['mail.*', ['employee_number']]],
    };
    const world = {
      documents: [merged],
      settings: settings({ redaction: { ...redaction, exceptions: [['mail.read', ['employee_number']]] } }),
      agents: [agent({ enabledTools: ['mail.*'] })],
    };
    const sidecar = await createTestSidecar({ world });
    const input = { a: ann, b: bob, c: 'EMP-123456', d: 'from 10.11.12.13' };
    const sent = await run(sidecar).decide({ tool: 'mail.send', input });
    const read = await run(sidecar).decide({ tool: 'mail.read', input });
    const kept = { b: bob, d: 'from 10.11.12.13' };
    expect(sent).toMatchObject({ input: { a: '[redacted:email#1]', c: '[redacted:employee_number#1]', ...kept } });
    expect(read).toMatchObject({ input: { a: '[redacted:email#1]', c: 'EMP-123456', ...kept } });
    const entries = await sidecar.entries();
    expect(entries.map(({ findings }) => findings)).toEqual([
      [
        { kind: 'email', count: 1 },
        { kind: 'employee_number', count: 1 },
      ],
      [{ kind: 'email', count: 1 }],
    ]);
    expect(entries[0]?.input).toEqual({ a: '[redacted:email#1]', c: '[redacted:employee_number#1]', ...kept });
  });

  test('change with the snapshot, in the middle of a run', async () => {
    const sidecar = await createTestSidecar({ world: redacting({ off: ['email'] }) });
    const own = run(sidecar);
    expect((await echoed(own, ann)).got).toBe(ann);
    sidecar.take(redacting());
    expect((await echoed(own, ann)).got).toBe('[redacted:email#1]');
  });
});

test('the text of a reason quotes nothing that is redacted', async () => {
  const tool = `mail ${ann}`;
  const sidecar = await createTestSidecar({ world: { documents: [document()] } });
  const own = run(sidecar);
  const verdict = await own.decide({ tool, input: null });
  if (verdict.allowed) throw new Error('was allowed');
  expect(verdict.code).toBe('agent_tools');
  expect(verdict.reason).toContain('does not name "mail [redacted:email#1]"');
  expect((await sidecar.entries())[0]?.decisionReason).toBe(verdict.reason);
});

test('digests are those of the stored form, so that no value can be guessed by its digest', async () => {
  const sidecar = await createTestSidecar({ world: redacting() });
  await echoed(run(sidecar), { to: ann });
  const [decided, outcome] = await sidecar.entries();
  expect(decided?.inputDigest).toBe(digestText(canonicalJson({ to: '[redacted:email#1]' })));
  expect(outcome?.outcome?.outputDigest).toBe(digestText(canonicalJson({ echo: { to: '[redacted:email#1]' } })));
});

test('with redact only in audit mode the payload passes unchanged, and the entry reports what would have been found', async () => {
  const audited = { ...ruleFor('mail.send', { transform: 'redact' }), mode: 'audit' as const };
  const sidecar = await createTestSidecar({ world: { documents: [audited] } });
  expect(await echoed(run(sidecar), { to: ann })).toEqual({ got: { to: ann }, seen: { echo: { to: ann } } });
  const entries = await sidecar.entries();
  expect(entries.map(({ findings }) => findings)).toEqual([[{ kind: 'email', count: 1 }], [{ kind: 'email', count: 1 }]]);
  expect(JSON.stringify(entries)).not.toContain(ann);
});

test('over the hook, marks are those of the session, and a caller that cannot accept a changed input is denied', async () => {
  const sidecar = await createTestSidecar({
    world: redacting(),
  });
  const { app, lines } = createTestServer(sidecar);
  const ask = async (path: string, body: object): Promise<unknown> =>
    (
      await app.inject({
        method: 'POST',
        url: path,
        headers: { authorization: `Bearer ${keyText('key1')}` },
        payload: { tool_name: 'mail.send', session_id: 's1', agent_name: 'bot', ...body },
      })
    ).json();
  expect(await ask('/govern/tool-use', { tool_input: { to: [bob, ann] }, accepts: ['modified_input'] })).toMatchObject({
    decision: 'allow',
    modified_input: { to: ['[redacted:email#1]', '[redacted:email#2]'] },
    findings: { pii: { types: ['email'], count: 2 } },
  });
  expect(
    await ask('/govern/tool-output', { tool_input: { to: ['[redacted:email#1]', '[redacted:email#2]'] }, tool_output: `sent to ${ann}` }),
  ).toMatchObject({ action: 'redact', modified_output: 'sent to [redacted:email#2]' });
  expect(await ask('/govern/tool-use', { tool_input: { to: ann } })).toMatchObject({
    decision: 'deny',
    reason: expect.stringMatching(/^redaction_unsupported: .*\(email\)/),
  });
  expect(await ask('/govern/tool-use', { tool_input: { to: ann }, session_id: 's2', accepts: ['modified_input'] })).toMatchObject({
    modified_input: { to: '[redacted:email#1]' },
  });
  expect(JSON.stringify(await sidecar.entries()) + lines.join('')).not.toMatch(/ann\.meyer|bob\.ortiz/);
});

test('a denial that a guarded tool throws contains nothing of what was found', async () => {
  const sidecar = await createTestSidecar({ world: redacting() });
  const error: unknown = await run(sidecar)
    .guard(
      `other.${ann}`,
      () => 'unreached',
    )({ to: bob })
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ToolDenied);
  expect(String(error)).not.toMatch(/bob\.ortiz/);
});
