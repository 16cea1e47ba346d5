import { bounds, canonicalJson, digestText } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { type Run, startRun } from '../../../../sidecar/doors/library/library.ts';
import { ToolDenied, type Verdict } from '../../../../sidecar/engine/govern/verdict.ts';
import { createTestSidecar, type TestSidecar } from '../../../support/governing.ts';
import { agent, document, key, member, ruleFor } from '../../../support/snapshots.ts';

const run = (sidecar: TestSidecar, options: Partial<Parameters<typeof startRun>[1]> = {}): Run =>
  startRun(sidecar, { agent: 'bot', tier: 'interactive', client: { name: 'tests', version: '1.2' }, ...options });

const redacting = { documents: [ruleFor('mail.send', { transform: 'redact' })] };
const mail = 'bob@acme-mail.eu';
const limited = { documents: [ruleFor('mail.send', { rateLimit: 1 })] };

/** Returns the denial that a guarded call ended with. */
async function denialOf(call: Promise<unknown>): Promise<ToolDenied> {
  const reason = await call.then(
    (value) => new Error(`was not denied, but answered ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (reason instanceof ToolDenied) return reason;
  throw reason;
}

test('a permitted call leaves one entry when it is decided, with every field of the contract', async () => {
  const sidecar = await createTestSidecar({ world: { documents: [ruleFor('mail.send', { permission: 'allow' })] } });
  sidecar.time.now += 250;
  const verdict = await run(sidecar, { sessionId: 'session-1' }).decide({ tool: 'mail.send', input: { to: 'bob', n: [1, null] } });
  expect(verdict).toMatchObject({ allowed: true, tool: 'mail.send', input: { to: 'bob', n: [1, null] }, findings: [], requestId: 'id-1' });
  expect(await sidecar.entries()).toEqual([
    {
      hookEvent: 'PreToolUse',
      tool: 'mail.send',
      decision: 'allow',
      code: 'allowed',
      decisionReason: 'allowed: the workspace allows interactive calls of "mail.send" (tools["mail.send"].interactive)',
      transform: 'log',
      rule: { layer: 'workspace', path: 'tools["mail.send"].interactive', revision: 1 },
      agentName: 'bot',
      agentId: 'agent-1',
      agentTier: 'interactive',
      agentType: 'tests::interactive::bot',
      role: 'member',
      keyId: 'key-1',
      sub: 'ann',
      userEmail: 'ann@acme.test',
      sessionId: 'session-1',
      client: { name: 'tests', version: '1.2' },
      depth: 0,
      epoch: 'e1',
      revision: 1,
      requestId: 'id-1',
      ts: '2026-06-25T12:00:00.000Z',
      policyAgeMs: 250,
      inputDigest: digestText(canonicalJson({ to: 'bob', n: [1, null] })),
      latencyUs: 0,
      input: { to: 'bob', n: [1, null] },
    },
  ]);
});

test('its outcome leaves one more entry, joined by the request id, without the output itself', async () => {
  const sidecar = await createTestSidecar();
  const own = run(sidecar);
  const verdict = await own.decide({ tool: 'mail.send', input: { to: 'bob' } });
  if (!verdict.allowed) throw new Error(verdict.reason);
  sidecar.time.wallTime += 12;
  expect(await own.report(verdict, { output: { ok: true }, isError: false, durationMs: 11.6 })).toEqual({
    action: 'pass',
    output: { ok: true },
    findings: [],
    decision: null,
  });
  const [decided, outcome] = await sidecar.entries();
  expect(outcome).toEqual({
    ...Object.fromEntries(Object.entries(decided ?? {}).filter(([field]) => field !== 'input' && field !== 'latencyUs')),
    hookEvent: 'PostToolUse',
    ts: '2026-06-25T12:00:00.012Z',
    outcome: { isError: false, durationMs: 12, outputDigest: digestText('{"ok":true}'), action: 'pass' },
  });
});

test('a denied call never reaches the tool, and gives a reason that a model can act on', async () => {
  const sidecar = await createTestSidecar({ world: { documents: [ruleFor('mail.send', { permission: 'deny' })] } });
  let called = 0;
  const denied = await denialOf(run(sidecar).guard('mail.send', () => (called += 1))({ to: 'bob' }));
  expect(called).toBe(0);
  expect(denied.message).toBe(
    'The call of "mail.send" was not permitted: policy_denied: the workspace denies interactive calls of "mail.send" (tools["mail.send"].interactive). Trying again will not help; continue without it or tell the user.',
  );
  expect(denied.denial).toMatchObject({ allowed: false, code: 'policy_denied', kind: 'terminal', retryAfterMs: null });
  expect(await sidecar.entries()).toMatchObject([{ hookEvent: 'PreToolUse', decision: 'deny', code: 'policy_denied' }]);
});

test('a throttled call reports when it can be retried, and passes then', async () => {
  const sidecar = await createTestSidecar({ world: limited });
  const send = run(sidecar).guard('mail.send', () => 'sent');
  expect(await send(null)).toBe('sent');
  const denied = await denialOf(send(null));
  expect(denied.denial).toMatchObject({ code: 'rate_limited', kind: 'retry', retryAfterMs: 61_000 });
  expect(denied.message).toContain('It may be allowed again in 61 s.');
  sidecar.time.now += 61_000;
  expect(await send(null)).toBe('sent');
});

test('redaction changes what the tool gets, what the model gets and what is stored, and reports only the kinds it found', async () => {
  const sidecar = await createTestSidecar({ world: redacting });
  const got: unknown[] = [];
  const answer = await run(sidecar).guard('mail.send', (input: unknown) => {
    got.push(input);
    return { sent: [mail, 'carol@acme-mail.eu'] };
  })({ to: mail, [mail]: 1, size: 3 });
  expect(got).toEqual([{ to: '[redacted:email#1]', '[redacted:email#1]': 1, size: 3 }]);
  expect(answer).toEqual({ sent: ['[redacted:email#1]', '[redacted:email#2]'] });
  const entries = await sidecar.entries();
  expect(entries).toMatchObject([
    { transform: 'redact', findings: [{ kind: 'email', count: 2 }], input: { to: '[redacted:email#1]', size: 3 } },
    { transform: 'redact', findings: [{ kind: 'email', count: 2 }], outcome: { action: 'redact' } },
  ]);
  expect(entries[0]?.inputDigest).toBe(digestText(canonicalJson(got[0])));
  expect(JSON.stringify(entries)).not.toContain('example.com');
});

test('values that convert themselves to JSON are redacted as that JSON', async () => {
  const sidecar = await createTestSidecar({ world: redacting });
  class Letter {
    readonly #to = mail;
    toJSON() {
      return { to: this.#to };
    }
  }
  const when = new Date(0);
  const got: unknown[] = [];
  const echo = run(sidecar).guard('mail.send', (input: unknown) => {
    got.push(input);
    return [new Letter(), new URL(`mailto:${mail}`)];
  });
  expect(JSON.stringify(await echo({ letter: new Letter(), when }))).not.toContain('example.com');
  expect(got).toEqual([{ letter: { to: '[redacted:email#1]' }, when: '1970-01-01T00:00:00.000Z' }]);
  expect(JSON.stringify(await sidecar.entries())).not.toContain('example.com');
});

test('a tool that returns nothing returns nothing, also under redaction', async () => {
  const sidecar = await createTestSidecar({ world: redacting });
  expect(await run(sidecar).guard('mail.send', () => undefined)({ to: 'bob' })).toBeUndefined();
  expect(await sidecar.entries()).toMatchObject([{}, { outcome: { action: 'pass', isError: false } }]);
});

test('without redaction the tool and the model get the original values', async () => {
  const sidecar = await createTestSidecar();
  const input = { to: mail, when: new Date(0) };
  const output = { to: mail };
  const got: unknown[] = [];
  const answer = await run(sidecar).guard('mail.send', (value: typeof input) => {
    got.push(value);
    return output;
  })(input);
  expect(got[0]).toBe(input);
  expect(answer).toBe(output);
});

test('where only a layer in audit mode redacts, the payload is unchanged and what is stored is redacted', async () => {
  const sidecar = await createTestSidecar({ world: { documents: [{ ...ruleFor('mail.send', { transform: 'redact' }), mode: 'audit' }] } });
  const got: unknown[] = [];
  const answer = await run(sidecar).guard('mail.send', (input: unknown) => {
    got.push(input);
    return mail;
  })({ to: mail });
  expect({ got, answer }).toEqual({ got: [{ to: mail }], answer: mail });
  const entries = await sidecar.entries();
  expect(entries).toMatchObject([
    { decision: 'allow', transform: 'redact', shadow: { transform: 'redact' }, input: { to: '[redacted:email#1]' } },
    { outcome: { action: 'pass' }, findings: [{ kind: 'email', count: 1 }] },
  ]);
  expect(entries[0]?.decisionReason).toMatch(/^would_redact: /);
  expect(JSON.stringify(entries)).not.toContain('example.com');
});

test('an error of the tool is recorded as an error, and reaches the caller unchanged', async () => {
  const sidecar = await createTestSidecar();
  const failure = new TypeError('no such mailbox');
  await expect(
    run(sidecar).guard('mail.send', () => {
      throw failure;
    })(null),
  ).rejects.toBe(failure);
  expect(await sidecar.entries()).toMatchObject([{}, { hookEvent: 'PostToolUse', outcome: { isError: true, action: 'pass' } }]);
});

test('an error whose message is redacted reaches the caller with the redacted message', async () => {
  const sidecar = await createTestSidecar({ world: redacting });
  const reason = await run(sidecar)
    .guard('mail.send', () => Promise.reject(new Error(`no mailbox ${mail}`)))(null)
    .catch((error: unknown) => error);
  expect(reason).toMatchObject({ message: 'no mailbox [redacted:email#1]' });
  expect(JSON.stringify(reason, Object.getOwnPropertyNames(reason))).not.toContain('example.com');
  expect(await sidecar.entries()).toMatchObject([
    {},
    { outcome: { isError: true, action: 'redact' }, findings: [{ kind: 'email', count: 1 }] },
  ]);
});

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;
const deep = (levels: number): unknown => (levels === 0 ? null : { a: deep(levels - 1) });

test.each([
  ['a cycle', cyclic, 'nested deeper'],
  ['a BigInt', { n: 1n }, 'BigInt'],
  ['65 levels', deep(65), 'nested deeper'],
  ['more values than allowed', Array.from({ length: 100_001 }, () => 0), 'more than 100000 values'],
  ['more text than allowed', 'x'.repeat(bounds.payloadCharacters), 'larger'],
] as const)('an input with %s is rejected as malformed, whatever policy decides, and leaves one entry', async (_, input, words) => {
  for (const world of [{}, redacting]) {
    const sidecar = await createTestSidecar({ world });
    let called = 0;
    const denied = await denialOf(run(sidecar).guard('mail.send', () => (called += 1))(input));
    expect(denied.denial).toMatchObject({ code: 'call_malformed', kind: 'terminal', reason: expect.stringContaining(words) });
    expect(called).toBe(0);
    const entries = await sidecar.entries();
    expect(entries).toMatchObject([{ hookEvent: 'PreToolUse', decision: 'deny', code: 'call_malformed', inputDigest: '' }]);
    expect(entries[0]).not.toHaveProperty('input');
  }
});

test('an input that throws when it is read is denied, and nothing passes', async () => {
  const sidecar = await createTestSidecar();
  const trap = {
    get to(): string {
      throw new Error('read me not');
    },
  };
  const denied = await denialOf(run(sidecar).guard('mail.send', () => 'sent')(trap));
  expect(denied.denial).toMatchObject({ code: 'call_malformed', reason: 'call_malformed: the input cannot be read' });
  expect(denied.message).toBe(
    'The call of "mail.send" was not made: call_malformed: the input cannot be read. Correct that and call again, or continue without it.',
  );
  expect(await sidecar.entries()).toMatchObject([{ code: 'call_malformed' }]);
});

test('an output that throws when it is read is recorded: it passes where nothing has to be redacted, otherwise it is blocked', async () => {
  const trap = (): unknown => ({
    get to(): string {
      throw new Error('read me not');
    },
  });
  const logging = await createTestSidecar();
  const output = trap();
  expect(await run(logging).guard('mail.send', () => output)(null)).toBe(output);
  expect(await logging.entries()).toMatchObject([{}, { hookEvent: 'PostToolUse', outcome: { action: 'pass', isError: false } }]);
  const sidecar = await createTestSidecar({ world: redacting });
  expect((await denialOf(run(sidecar).guard('mail.send', trap)(null))).denial.code).toBe('redaction_unsupported');
  expect(await sidecar.entries()).toMatchObject([
    {},
    { hookEvent: 'PostToolUse', outcome: { action: 'block', isError: false, code: 'redaction_unsupported' } },
  ]);
});

test('an output that is not JSON passes where policy only logs, and is blocked where it redacts', async () => {
  const logging = await createTestSidecar();
  const output = { n: 1n };
  expect(await run(logging).guard('mail.send', () => output)(null)).toBe(output);
  const entries = await logging.entries();
  expect(entries).toMatchObject([{}, { outcome: { action: 'pass' } }]);
  expect(entries[1]?.outcome).not.toHaveProperty('outputDigest');

  const sidecar = await createTestSidecar({ world: redacting });
  const denied = await denialOf(run(sidecar).guard('mail.send', () => output)(null));
  expect(denied.denial).toMatchObject({ code: 'redaction_unsupported' });
  expect(await sidecar.entries()).toMatchObject([
    { decision: 'allow' },
    { hookEvent: 'PostToolUse', outcome: { action: 'block', code: 'redaction_unsupported', isError: false } },
  ]);
});

test('a call that cannot be recorded is denied, and its tool is not called', async () => {
  for (const durability of ['kernel', 'disk'] as const) {
    const sidecar = await createTestSidecar({ durability });
    sidecar.spoolFault = 'full';
    let called = 0;
    const denied = await denialOf(run(sidecar).guard('mail.send', () => (called += 1))(null));
    expect(denied.denial).toMatchObject({ code: 'audit_unavailable', kind: 'retry' });
    expect({ called, unrecorded: sidecar.unrecorded, entries: await sidecar.entries() }).toMatchObject({ called: 0, entries: [] });
    sidecar.spoolFault = null;
    expect(await run(sidecar).guard('mail.send', () => 'sent')(null)).toBe('sent');
  }
});

test('where an outcome cannot be recorded, the output does not reach the model', async () => {
  const sidecar = await createTestSidecar();
  const denied = await denialOf(
    run(sidecar).guard('mail.send', () => {
      sidecar.spoolFault = 'full';
      return 'secret';
    })(null),
  );
  expect(denied.denial.code).toBe('audit_unavailable');
  expect(denied.message).not.toContain('secret');
});

test('a workspace that chose to continue without audit does, each loss is counted, and denials stay denials', async () => {
  const sidecar = await createTestSidecar({
    world: { settings: { auditUnavailable: 'allow' }, documents: [ruleFor('github.delete', { permission: 'deny' })] },
  });
  sidecar.spoolFault = 'full';
  expect(await run(sidecar).guard('mail.send', () => 'sent')(null)).toBe('sent');
  expect(sidecar.unrecorded).toBe(2);
  expect((await denialOf(run(sidecar).guard('github.delete', () => 'gone')(null))).denial.code).toBe('policy_denied');
  expect(sidecar.unrecorded).toBe(3);
});

test('a call whose entry is not confirmed is denied, and the log reports that its permit was withdrawn; the same holds for an output', async () => {
  const sidecar = await createTestSidecar({ durability: 'remote' });
  sidecar.spoolFault = 'unconfirmed';
  let called = 0;
  const denied = await denialOf(run(sidecar).guard('mail.send', () => (called += 1))(null));
  expect(denied.denial).toMatchObject({ code: 'audit_unavailable', kind: 'retry', reason: expect.stringContaining('control plane') });
  expect({ called, unconfirmed: sidecar.unconfirmed, unrecorded: sidecar.unrecorded }).toEqual({
    called: 0,
    unconfirmed: 1,
    unrecorded: 0,
  });
  const [permitted, withdrawn, ...others] = await sidecar.entries();
  expect(permitted).toMatchObject({ hookEvent: 'PreToolUse', decision: 'allow' });
  expect(withdrawn).toMatchObject({
    hookEvent: 'PostToolUse',
    requestId: permitted?.requestId,
    outcome: { action: 'block', code: 'audit_unavailable' },
  });
  expect(others).toEqual([]);

  const later = await createTestSidecar({ durability: 'remote' });
  const output = (): string => {
    later.spoolFault = 'unconfirmed';
    return 'secret';
  };
  expect((await denialOf(run(later).guard('mail.send', output)(null))).message).not.toContain('secret');
  expect((await later.entries()).map(({ outcome }) => outcome?.action)).toEqual([undefined, 'pass', 'block']);
});

test('an unconfirmed denial stays a denial, with one entry; a workspace without required audit continues, and nothing counts as unrecorded', async () => {
  const sidecar = await createTestSidecar({
    durability: 'remote',
    world: { settings: { auditUnavailable: 'allow' }, documents: [ruleFor('github.delete', { permission: 'deny' })] },
  });
  sidecar.spoolFault = 'unconfirmed';
  expect(await run(sidecar).guard('mail.send', () => 'sent')(null)).toBe('sent');
  expect((await denialOf(run(sidecar).guard('github.delete', () => 'gone')(null))).denial.code).toBe('policy_denied');
  expect({ unconfirmed: sidecar.unconfirmed, unrecorded: sidecar.unrecorded }).toEqual({ unconfirmed: 3, unrecorded: 0 });
  expect((await sidecar.entries()).map(({ decision }) => decision)).toEqual(['allow', 'allow', 'deny']);
});

test('of 200 calls at once in a run with a cap of 50 exactly 50 pass, and the run reports why it ended', async () => {
  for (const durability of ['kernel', 'disk'] as const) {
    const sidecar = await createTestSidecar({ durability, world: { agents: [agent({ maxToolCalls: 50 })] } });
    const own = run(sidecar);
    let called = 0;
    const call = own.guard('mail.send', async () => {
      called += 1;
      await Promise.resolve();
      return 'sent';
    });
    const settled = await Promise.allSettled(Array.from({ length: 200 }, () => call(null)));
    expect({ called, passed: settled.filter(({ status }) => status === 'fulfilled').length, stopped: own.stopped }).toEqual({
      called: 50,
      passed: 50,
      stopped: 'max_tool_calls',
    });
    const entries = await sidecar.entries();
    expect(entries.filter(({ hookEvent, decision }) => hookEvent === 'PreToolUse' && decision === 'allow')).toHaveLength(50);
    expect(entries.filter(({ hookEvent, code }) => hookEvent === 'PreToolUse' && code === 'cap_tool_calls')).toHaveLength(150);
    expect(entries.filter(({ hookEvent }) => hookEvent === 'PostToolUse')).toHaveLength(50);
  }
});

test('every decision has one entry and every outcome one more, joined one to one', async () => {
  const sidecar = await createTestSidecar({ world: { documents: [ruleFor('github.delete', { permission: 'deny' })] } });
  const own = run(sidecar);
  await Promise.allSettled(
    Array.from({ length: 60 }, (_, at) =>
      own.guard(at % 3 === 0 ? 'github.delete' : 'mail.send', () => {
        if (at % 3 === 1) throw new Error('no');
        return at;
      })({ at }),
    ),
  );
  const entries = await sidecar.entries();
  const ids = (event: string) => entries.filter(({ hookEvent }) => hookEvent === event).map(({ requestId }) => requestId);
  expect(new Set(ids('PreToolUse')).size).toBe(60);
  expect(ids('PreToolUse')).toHaveLength(60);
  const allowed = entries
    .filter(({ hookEvent, decision }) => hookEvent === 'PreToolUse' && decision === 'allow')
    .map(({ requestId }) => requestId);
  expect(ids('PostToolUse').toSorted()).toEqual(allowed.toSorted());
  expect(allowed).toHaveLength(40);
});

test('rounds beyond the cap end the run', async () => {
  const sidecar = await createTestSidecar({ world: { agents: [agent({ maxToolRounds: 2 })] } });
  const own = run(sidecar);
  const call = own.guard('mail.send', () => 'sent');
  for (let round = 1; round <= 2; round += 1) {
    own.round();
    expect(await call(null)).toBe('sent');
  }
  expect(own.stopped).toBeNull();
  own.round();
  expect((await denialOf(call(null))).denial.code).toBe('cap_tool_rounds');
  expect(own.stopped).toBe('max_rounds');
});

test('a run that lasts longer than its cap ends', async () => {
  const sidecar = await createTestSidecar({ world: { agents: [agent({ maxDurationMs: 5_000 })] } });
  const own = run(sidecar);
  sidecar.time.now += 4_999;
  expect(await own.guard('mail.send', () => 'sent')(null)).toBe('sent');
  sidecar.time.now += 1;
  expect((await denialOf(own.guard('mail.send', () => 'sent')(null))).denial.code).toBe('cap_duration');
  expect(own.stopped).toBe('max_duration');
});

test('an input larger than 8 KiB is stored cut, at a whole character, under the digest of the whole', async () => {
  const sidecar = await createTestSidecar();
  const decide = async (input: unknown) => {
    await run(sidecar).decide({ tool: 'mail.send', input });
    return (await sidecar.entries()).at(-1);
  };
  for (const character of ['x', 'é', '文', '😀']) {
    for (const shift of [0, 1, 2, 3]) {
      const input = { text: `${'a'.repeat(shift)}${character.repeat(9_000)}` };
      const entry = await decide(input);
      expect(entry).toMatchObject({ inputCut: true, inputDigest: digestText(canonicalJson(input)) });
      const kept = String(entry?.input);
      expect(canonicalJson(input).startsWith(kept)).toBe(true);
      expect(Buffer.byteLength(kept)).toBeGreaterThan(8 * 1024 - 4);
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(8 * 1024);
    }
  }
  const exact = { text: 'x'.repeat(8 * 1024 - canonicalJson({ text: '' }).length) };
  const entry = await decide(exact);
  expect(entry?.input).toEqual(exact);
  expect(entry).not.toHaveProperty('inputCut');
});

test('where entries keep only digests, they contain no input', async () => {
  const sidecar = await createTestSidecar({ keepInput: false });
  await run(sidecar).decide({ tool: 'mail.send', input: { word: 'rosebud' } });
  const [entry] = await sidecar.entries();
  expect(entry).not.toHaveProperty('input');
  expect(entry?.inputDigest).toBe(digestText('{"word":"rosebud"}'));
  expect(JSON.stringify(entry)).not.toContain('rosebud');
});

test('names that would break JSON are written safely and read back unchanged', async () => {
  const sidecar = await createTestSidecar({ world: { settings: { unknownAgents: 'allow' } } });
  const odd = '"\\</script>\u2028\ud83d\ude00';
  await run(sidecar, { agent: odd, client: { name: odd, version: odd }, sessionId: odd }).decide({
    tool: odd,
    input: { [odd]: '\ud800', '\n': '\u0000' },
  });
  expect(await sidecar.entries()).toMatchObject([
    { tool: odd, agentName: odd, sessionId: odd, client: { name: odd, version: odd }, input: { [odd]: '\ud800', '\n': '\u0000' } },
  ]);
});

test('a run that delegates a task leaves entries that name the whole chain', async () => {
  const world = {
    agents: [
      agent({ id: 'p', name: 'planner', maxDelegationDepth: 2 }),
      agent({ id: 'w', name: 'writer' }),
      agent({ id: 's', name: 'sender', canDelegate: false }),
    ],
  };
  const sidecar = await createTestSidecar({ world });
  const root = run(sidecar, { agent: 'planner', sessionId: 'root' });
  const writer = root.delegate('writer');
  const sender = writer.delegate('sender', { tools: ['mail.*'] });
  for (const one of [root, writer, sender]) await one.decide({ tool: 'mail.send', input: null });
  const [first, second, third] = await sidecar.entries();
  expect(first).toMatchObject({ sub: 'ann', depth: 0, agentName: 'planner', sessionId: 'root' });
  for (const field of ['originSub', 'chain', 'runChain', 'parentProfileId', 'chainClaimed']) expect(first).not.toHaveProperty(field);
  expect(second).toMatchObject({
    sub: 'agent:w',
    originSub: 'ann',
    userEmail: 'ann@acme.test',
    role: 'member',
    depth: 1,
    agentTier: 'subagent',
    agentType: 'tests::subagent::writer',
    chain: ['planner', 'writer'],
    runChain: ['root', writer.id],
    parentProfileId: 'p',
    sessionId: writer.id,
  });
  expect(second).not.toHaveProperty('chainClaimed');
  expect(third).toMatchObject({
    sub: 'agent:s',
    originSub: 'ann',
    depth: 2,
    chain: ['planner', 'writer', 'sender'],
    runChain: ['root', writer.id, sender.id],
    parentProfileId: 'w',
    decision: 'allow',
  });

  const codeOf = async (one: Run, tool: string) => (await one.decide({ tool, input: null })).decision.code;
  expect(await codeOf(sender, 'github.read')).toBe('delegated_tools');
  expect(await codeOf(sender.delegate('planner'), 'mail.send')).toBe('delegation_denied');
});

test('parallel child runs share the limits of their parent, and get no more', async () => {
  const world = {
    agents: [agent(), ...Array.from({ length: 5 }, (_, at) => agent({ id: `w${at}`, name: `worker${at}` }))],
    documents: [ruleFor('mail.send', { rateLimit: 3 })],
  };
  const sidecar = await createTestSidecar({ world });
  const root = run(sidecar);
  const verdicts: Verdict[] = [];
  for (let at = 0; at < 5; at += 1) verdicts.push(await root.delegate(`worker${at}`).decide({ tool: 'mail.send', input: at }));
  expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false]);
});

test('an invalid tier makes the call invalid', async () => {
  const sidecar = await createTestSidecar({ world: {} });
  for (const tier of ['API', 'bogus', '__proto__', '']) {
    // As JavaScript callers can pass it.
    const { decision } = await run(sidecar, { tier: tier as 'api' }).decide({ tool: 'mail.send', input: null });
    expect(decision.code).toBe('call_malformed');
  }
});

test('naming another user needs the scope for it, and the user must be a member of no higher role', async () => {
  const members = [member(), member({ uid: 'bob', email: 'bob@acme.test' }), member({ uid: 'cat', email: 'cat@acme.test', role: 'admin' })];
  const codeOf = async (scopes: readonly string[], user: string) => {
    const sidecar = await createTestSidecar({ world: { members, keys: [key({ scopes })] } });
    const { decision } = await run(sidecar, { user }).decide({ tool: 'mail.send', input: null });
    const [entry] = await sidecar.entries();
    return `${decision.code} ${entry?.sub} ${entry?.userEmail}`;
  };
  expect(await codeOf(['govern'], 'ann')).toBe('allowed ann ann@acme.test');
  expect(await codeOf(['govern'], 'bob')).toBe('key_scope bob bob@acme.test');
  expect(await codeOf(['govern', 'govern.impersonate'], 'bob')).toBe('allowed bob bob@acme.test');
  // A role above the key's own would apply that role's rules.
  expect(await codeOf(['govern', 'govern.impersonate'], 'cat')).toBe('key_scope cat cat@acme.test');
  expect(await codeOf(['govern', 'govern.impersonate'], 'eve')).toBe('identity_unknown eve ');
  expect(await codeOf(['sidecar.sync'], 'ann')).toBe('key_scope ann ann@acme.test');
});

test('a run continues under the newest policy, and each entry names the revision that decided it', async () => {
  const sidecar = await createTestSidecar();
  const own = run(sidecar);
  await own.decide({ tool: 'mail.send', input: null });
  sidecar.take({ documents: [ruleFor('mail.send', { permission: 'deny' })] });
  await own.decide({ tool: 'mail.send', input: null });
  sidecar.take({ settings: { frozen: true } });
  await own.decide({ tool: 'mail.send', input: null });
  expect((await sidecar.entries()).map(({ revision, code }) => `${revision} ${code}`)).toEqual([
    '1 allowed',
    '2 policy_denied',
    '3 workspace_frozen',
  ]);
});

test('a revoked, refused or expired key denies, whatever was allowed before', async () => {
  const sidecar = await createTestSidecar({ world: { keys: [key({ expiresAt: Date.UTC(2026, 5, 25, 13) })] } });
  const own = run(sidecar);
  const code = async () => (await own.decide({ tool: 'mail.send', input: null })).decision.code;
  expect(await code()).toBe('allowed');
  sidecar.time.wallTime = Date.UTC(2026, 5, 25, 13);
  expect(await code()).toBe('key_revoked');
  sidecar.time.wallTime -= 1;
  expect(await code()).toBe('allowed');
  sidecar.cell.refuse('this key was revoked');
  expect(await code()).toBe('key_revoked');
  sidecar.cell.heard(1);
  expect(await code()).toBe('allowed');
  sidecar.take({ keys: [] });
  expect(await code()).toBe('key_revoked');
  expect((await startRun(sidecar, { agent: 'bot', tier: 'api' }).decide({ tool: 'mail.send', input: null })).decision.code).toBe(
    'key_revoked',
  );
});

test('a run cannot begin where no policy is held', async () => {
  const sidecar = await createTestSidecar({ world: null });
  expect(() => run(sidecar)).toThrow('no policy has been received yet, and no call may be accepted before the first policy');
});

test('an outage marks what is decided by the last known policy', async () => {
  const outage = {
    maxStalenessSeconds: 10,
    then: { interactive: 'last_known', subagent: 'deny', background: 'deny', api: 'deny' },
  } as const;
  const sidecar = await createTestSidecar({ world: { settings: { outage }, documents: [document()] } });
  sidecar.cell.lost();
  sidecar.time.now += 10_001;
  await run(sidecar).decide({ tool: 'mail.send', input: null });
  await run(sidecar, { tier: 'api' }).decide({ tool: 'mail.send', input: null });
  expect(await sidecar.entries()).toMatchObject([
    { code: 'allowed', outage: true, policyAgeMs: 10_001 },
    { code: 'outage', outage: true, decision: 'deny' },
  ]);
});

test('a bug of ours while deciding is a denial and an entry, and nothing passes', async () => {
  const sidecar = await createTestSidecar();
  const own = run(sidecar);
  let called = 0;
  Object.defineProperty(sidecar.cell.current?.settings.outage ?? {}, 'maxStalenessSeconds', {
    get: () => {
      throw new Error('a bug');
    },
  });
  const denied = await denialOf(own.guard('mail.send', () => (called += 1))({ word: 'rosebud' }));
  expect(denied.denial).toMatchObject({ code: 'internal_error', kind: 'retry' });
  expect(called).toBe(0);
  const entries = await sidecar.entries();
  expect(entries).toMatchObject([{ hookEvent: 'PreToolUse', decision: 'deny', code: 'internal_error' }]);
  expect(JSON.stringify(entries)).not.toContain('rosebud');
});
