// What the doors of a process remember of sessions, what it costs in bytes, and what is evicted first.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Numbers } from '../../../../sidecar/engine/redact/index.ts';
import { type HookRequest, readHookRequest } from '../../../../sidecar/doors/hooks/hook-request.ts';
import { sessionBytes } from '../../../../sidecar/doors/entrance/entrance.ts';
import { type MemoryBytes, SessionMemory } from '../../../../sidecar/doors/sessions/session-memory.ts';
import { createSessions, type Session } from '../../../../sidecar/doors/sessions/sessions.ts';
import type { Permit } from '../../../../sidecar/engine/govern/verdict.ts';
import { createTestSidecar } from '../../../support/governing.ts';

const asked = (fields: object): HookRequest =>
  readHookRequest(
    {
      value: { tool_name: 'mail.send', tool_input: {}, session_id: 's1', agent_name: 'bot', ...fields },
      hasInexactNumbers: false,
      flaw: null,
      formerStatus: 400,
    },
    undefined,
    'key-1',
  );

interface Finding {
  readonly key?: string;
  readonly sub?: string;
}

async function start(bytes: MemoryBytes = sessionBytes, memory = new SessionMemory(bytes)) {
  const sidecar = await createTestSidecar();
  const sessions = createSessions(sidecar, memory);
  const find = (fields: object = {}, { key = 'key-1', sub = 'ann' }: Finding = {}): Session =>
    sessions.find({ sub, keyId: key }, asked(fields));
  const handed = (session: Session): readonly string[] | undefined => session.run.claim.hops.at(-1)?.handedTools;
  return { sidecar, memory, find, handed, time: sidecar.time };
}

const small = { sessions: 100_000, narrowings: 100_000, costs: 100_000 };
const permit: Permit = {
  allowed: true,
  requestId: 'r',
  tool: 'mail.send',
  decision: {} as Permit['decision'],
  findings: [],
  input: {},
  decidedAt: 0,
  decidedBy: { callerText: '', agent: '', revision: 1, mayGoUnrecorded: false },
  inputDigest: '',
  trace: null,
};
const emailIn = (numbers: Numbers, value: string): string => numbers.markFor('email', value);

test('numbers and caps of a session in use are kept, however many others come, and later agents of the session share them', async () => {
  const { find, time } = await start(small);
  const first = find();
  for (let at = 0; at < 500; at++) {
    find({ session_id: `other-${at}` });
    time.now += 1_500;
    expect(find().run.usage).toBe(first.run.usage);
    expect(find()).toBe(find());
  }
  expect(find({ agent_name: 'helper' }).run.numbers).toBe(first.run.numbers);
  expect(find({ client: { name: 'other' } }).run.usage).toBe(first.run.usage);
});

describe('after a minute without a call', () => {
  test('the usage of a named session is forgotten, because the ledger has it; pending outcomes are not', async () => {
    const { find, memory, time } = await start();
    const first = find();
    first.pending.add({ callId: 'c1', tool: 'mail.send', input: {} }, permit);
    time.now += 60_001;
    find({ session_id: 'another' });
    const back = find();
    expect(back.run.usage).not.toBe(first.run.usage);
    expect(back.pending.take({ callId: 'c1', tool: 'mail.send', input: {} })).toMatchObject({ requestId: 'r' });
    const { bytes } = memory.budget;
    time.now += 700_000;
    find({ session_id: 'third' });
    time.now += 1_001;
    find({ session_id: 'third' });
    expect(memory.budget.bytes).toBeLessThan(bytes);
  });

  test('the usage of an unnamed session is kept for ten minutes, and no longer than its maximum duration', async () => {
    const { find, time } = await start();
    const unnamed = { session_id: undefined };
    const first = find(unnamed);
    time.now += 599_000;
    expect(find(unnamed).run.usage).toBe(first.run.usage);
    time.now += 601_000;
    find({ session_id: 'another' });
    expect(find(unnamed).run.usage).not.toBe(first.run.usage);
  });
});

test('marks of a session that comes back continue above those that it gave', async () => {
  const { find, time } = await start();
  expect(emailIn(find().run.numbers, 'ann@example.com')).toBe('[redacted:email#1]');
  expect(emailIn(find().run.numbers, 'bob@example.com')).toBe('[redacted:email#2]');
  for (const idle of [61_000, 601_000]) {
    time.now += idle;
    find({ session_id: 'another' });
  }
  time.now += 1_001;
  find({ session_id: 'another' });
  expect(emailIn(find().run.numbers, 'cleo@example.com')).toBe('[redacted:email#3]');
  expect(emailIn(find({ session_id: 'new' }).run.numbers, 'dora@example.com')).toBe('[redacted:email#1]');
});

describe('the tools that agents were delegated with', () => {
  test('apply from then on and only get narrower, even if the session was forgotten', async () => {
    const { find, handed, time } = await start(small);
    expect(handed(find({ delegated_tools: ['mail.*', 'web.get'] }))).toEqual(['mail.*', 'web.get']);
    expect(handed(find({ delegated_tools: ['mail.send', 'db.drop'] }))).toEqual(['mail.send']);
    expect(handed(find({ delegated_tools: ['mail.*'] }))).toEqual(['mail.send']);
    expect(handed(find({ agent_name: 'helper' }))).toBeUndefined();
    for (let at = 0; at < 2_000; at++) find({ session_id: `other-${at}` });
    time.now += 23 * 3_600_000;
    expect(handed(find())).toEqual(['mail.send']);
    time.now += 23 * 3_600_000;
    expect(handed(find())).toEqual(['mail.send']);
    time.now += 25 * 3_600_000;
    expect(handed(find())).toBeUndefined();
  });

  test('stay narrow under 200,000 sessions of one key, for that key and for others; a session over the budget is denied', async () => {
    const { find, handed, time, memory } = await start();
    find({ session_id: 'mine', delegated_tools: ['a'] });
    find({ session_id: 'theirs', delegated_tools: ['b'] }, { key: 'key-2' });
    let full = 0;
    for (let at = 0; at < 200_000; at++) {
      time.now += 1;
      if (find({ session_id: `s${at}`, delegated_tools: ['c'] }).run.barred?.code === 'sessions_full') full += 1;
    }
    expect(full).toBeGreaterThan(0);
    expect(handed(find({ session_id: 'mine' }))).toEqual(['a']);
    expect(handed(find({ session_id: 'theirs' }, { key: 'key-2' }))).toEqual(['b']);
    // Another key still has budget, and an existing restriction can get narrower.
    expect(find({ session_id: 'new', delegated_tools: ['d'] }, { key: 'key-3' }).run.barred).toBeUndefined();
    expect(memory.budget.bytes).toBeLessThanOrEqual(sessionBytes.sessions);
  }, 60_000);

  test('are not stored for a caller over the budget, which is denied, and earlier ones still apply', async () => {
    const { find, handed } = await start({ sessions: 100_000, narrowings: 10_000, costs: 10_000 });
    const long = (n: number) => Array.from({ length: 20 }, (_, at) => `${'x'.repeat(100)}.${n}.${at}`);
    let made = 0;
    while (find({ session_id: `s${made}`, delegated_tools: long(made) }).run.barred === undefined) made += 1;
    expect(made).toBeLessThan(3);
    expect(find({ session_id: 'again', delegated_tools: long(99) }).run.barred).toMatchObject({ code: 'sessions_full', kind: 'retry' });
    // Its next call without a list does not pass with all tools.
    expect(handed(find({ session_id: 's0' })) ?? []).toHaveLength(made > 0 ? 20 : 0);
  });
});

test('a flood of one key uses no budget of another', async () => {
  const { find, memory } = await start(small);
  const honest = find({}, { key: 'honest' });
  emailIn(honest.run.numbers, 'ann@example.com');
  for (let at = 0; at < 5_000; at++) find({ session_id: `s${at}`, agent_name: `agent-${at}` }, { key: 'flood' });
  expect(find({}, { key: 'honest' })).toBe(honest);
  expect(memory.budget.bytes).toBeLessThanOrEqual(small.sessions);
});

test('workspaces with one shared budget have its bytes together, and a workspace without requests leaves nothing in it', async () => {
  const acme = await start(small);
  const other = await start(small, acme.memory);
  const { budget } = acme.memory;
  const honest = acme.find();
  for (let at = 0; at < 2_000; at++) other.find({ session_id: `s${at}`, delegated_tools: ['a'] }, { key: `key-${at % 3}` });
  expect(budget.bytes).toBeLessThanOrEqual(small.sessions);
  expect(acme.find()).toBe(honest);
  // One clock for all workspaces, as in a process: in this test each has its own.
  for (const hours of [1, 2, 27, 28, 29]) {
    acme.time.now += hours * 3_600_000;
    other.time.now = acme.time.now;
    acme.find();
  }
  const alone = budget.bytes;
  acme.time.now += 3_600_000;
  acme.find();
  expect(budget.bytes).toBe(alone);
  const fresh = await start(small);
  fresh.find();
  expect(alone).toBe(fresh.memory.budget.bytes);
});

test('whatever callers name, no more is stored than the budget allows', async () => {
  const { memory, find, time } = await start(small);
  const name = fc.integer({ min: 0, max: 30 }).map((n) => 'n'.repeat(n * 6 + 1));
  const call = fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    session: name,
    agent: name,
    client: name,
    chain: fc.array(name, { maxLength: 8 }),
    emails: fc.integer({ min: 0, max: 30 }),
    pending: fc.integer({ min: 0, max: 20 }),
    passes: fc.constantFrom(0, 0, 1, 2_000, 61_000, 700_000),
  });
  let most = 0;
  fc.assert(
    fc.property(fc.array(call, { maxLength: 60 }), (all) => {
      for (const { key, session, agent, client, chain, emails, pending, passes } of all) {
        time.now += passes;
        const found = find({ session_id: session, agent_name: agent, client: { name: client }, agent_chain: chain }, { key });
        for (let n = 0; n < emails; n += 1) emailIn(found.run.numbers, `${session}-${n}@example.com`);
        for (let n = 0; n < pending; n += 1) found.pending.add({ callId: `${client}-${n}`, tool: 'mail.send', input: {} }, permit);
        most = Math.max(most, memory.budget.bytes);
        // The current call is kept, whatever its size is.
        expect(memory.budget.bytes).toBeLessThanOrEqual(small.sessions + 70_000);
      }
    }),
    { numRuns: 200 },
  );
  expect(most).toBeGreaterThan(small.sessions * 0.9);
});

test('an unnamed session starts again at its maximum duration', async () => {
  const { sidecar, find, time } = await start();
  void sidecar;
  const unnamed = { session_id: undefined };
  const first = find(unnamed);
  time.now += 1_000;
  expect(find(unnamed).run.usage).toBe(first.run.usage);
});

test('a forgotten session keeps no values for code that still holds it', async () => {
  const { find, memory } = await start(small);
  const { numbers } = find().run;
  const first = emailIn(numbers, 'ann@example.com');
  for (let at = 0; at < 500; at++) find({ session_id: `other-${at}` });
  const { bytes } = memory.budget;
  const later = Array.from({ length: 1_000 }, (_, at) => emailIn(numbers, `user-${at}@example.com`));
  expect(new Set([first, ...later]).size).toBe(1_001);
  expect(emailIn(numbers, 'ann@example.com')).not.toBe(first);
  expect(memory.budget.bytes).toBe(bytes);
});

test('the tools that an agent was delegated with apply as long as its session is used, also under a new revision', async () => {
  const { sidecar, find, handed, time } = await start();
  find({ delegated_tools: ['mail.send'] });
  for (let asked = 0; asked < 25 * 120; asked += 1) {
    time.now += 30_000;
    find();
  }
  sidecar.take({});
  expect(handed(find())).toEqual(['mail.send']);
});
