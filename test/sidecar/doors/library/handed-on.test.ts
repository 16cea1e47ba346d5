// Where policy redacts: which values, errors and failures of our own reach the tool and the model.
import { Readable } from 'node:stream';
import { plainRedaction } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { type Run, startRun } from '../../../../sidecar/doors/library/library.ts';
import { ToolDenied } from '../../../../sidecar/engine/govern/verdict.ts';
import { createTestServer, createTestSidecar, type TestSidecar } from '../../../support/governing.ts';
import { agent, document, keyText, ruleFor, settings } from '../../../support/snapshots.ts';

const ann = 'ann.meyer@acme-mail.eu';
const redacting = { documents: [ruleFor('mail.send', { transform: 'redact' })] };
const run = (sidecar: TestSidecar): Run => startRun(sidecar, { agent: 'bot', tier: 'interactive' });

async function passed(input: unknown, output: unknown): Promise<{ readonly got: unknown; readonly seen: unknown }> {
  const got: unknown[] = [];
  const seen = await run(await createTestSidecar({ world: redacting })).guard('mail.send', (value: unknown) => {
    got.push(value);
    return output;
  })(input);
  return { got: got[0], seen };
}

async function failureOf(own: Run, call: () => unknown): Promise<unknown> {
  const nothing = Symbol('nothing thrown');
  const failure: unknown = await own
    .guard(
      'mail.send',
      call,
    )(null)
    .then(
      () => nothing,
      (error: unknown) => error,
    );
  expect(failure).not.toBe(nothing);
  return failure;
}

const thrownBy = (thrown: unknown) => (): never => {
  throw thrown;
};

const reasonOf = (failure: unknown): string => {
  expect(failure).toBeInstanceOf(ToolDenied);
  return failure instanceof ToolDenied ? failure.denial.reason : '';
};

test('plain data in which nothing is found is passed as the same value, including what JSON cannot represent', async () => {
  const input = {
    a: Number.NaN,
    b: -0,
    c: undefined,
    d: Object.assign([1], { 2: 'x' }),
    e: Object.assign(Object.create(null), { f: 'g' }),
  };
  const output = [input, null];
  const { got, seen } = await passed(input, output);
  expect(got).toBe(input);
  expect(seen).toBe(output);
  expect(got).toHaveProperty('b', -0);
});

const hiding: readonly (readonly [string, () => object])[] = [
  ['a field that is not enumerable', () => Object.defineProperty({ a: 1 }, 'hidden', { value: ann })],
  ['a field under a symbol', () => ({ a: 1, [Symbol('hidden')]: ann })],
  ['a field behind a prototype', () => Object.assign(Object.create({ hidden: ann }), { a: 1 })],
  ['a private field', () => new Hiding()],
  ['a function on a list', () => Object.assign([1], { hidden: ann })],
];

class Hiding {
  a = 1;
  readonly #hidden = ann;
  get hidden(): string {
    return this.#hidden;
  }
}

test.each(hiding)('%s is not passed in addition to what was inspected', async (_, make) => {
  const value = make();
  const { got, seen } = await passed({ value }, [value]);
  const become = Array.isArray(value) ? [1] : { a: 1 };
  expect({ got, seen }).toStrictEqual({ got: { value: become }, seen: [become] });
});

test('a value that returns something else each time is passed as it was inspected', async () => {
  let asked = 0;
  const shifty = {
    get to(): string {
      asked += 1;
      return asked === 1 ? 'absent' : ann;
    },
  };
  let read = 0;
  const proxy = new Proxy({ to: 'absent' }, { get: (target, key) => (key === 'to' && (read += 1) > 1 ? ann : Reflect.get(target, key)) });
  const { got, seen } = await passed(shifty, proxy);
  expect({ got, seen }).toStrictEqual({ got: { to: 'absent' }, seen: { to: 'absent' } });
});

const bytes = Buffer.from(ann);
const unread: readonly (readonly [string, () => unknown, string])[] = [
  ['a Buffer', () => bytes, 'bytes'],
  ['a Uint8Array', () => new Uint8Array(bytes), 'bytes'],
  ['an ArrayBuffer', () => new Uint8Array(bytes).buffer, 'bytes'],
  ['bytes behind toJSON', () => ({ toJSON: () => ({ bytes }) }), 'bytes'],
  ['a Map', () => new Map([['to', ann]]), 'an object that JSON cannot represent'],
  ['a Set', () => new Set([ann]), 'an object that JSON cannot represent'],
  ['a response', () => new Response(ann), 'an object that JSON cannot represent'],
  ['a stream', () => new ReadableStream(), 'an object that JSON cannot represent'],
  ['a stream of Node', () => Readable.from([ann]), 'an object that JSON cannot represent'],
  ['a blob', () => new Blob([ann]), 'an object that JSON cannot represent'],
  [
    'a generator',
    () =>
      (function* () {
        yield ann;
      })(),
    'an object that JSON cannot represent',
  ],
  ['a function', () => () => ann, 'a function'],
];

test.each(unread)('%s reaches neither tool nor model, at any depth, and the message reports it', async (_, make, words) => {
  const reason = `redaction_unsupported: policy redacts the %, but the % contains ${words}`;
  for (const value of [make(), { deep: [make()] }]) {
    const sidecar = await createTestSidecar({ world: redacting });
    let called = 0;
    const denied = await run(sidecar)
      .guard(
        'mail.send',
        () => (called += 1),
      )(value)
      .catch((error: unknown) => error);
    expect(reasonOf(denied)).toContain(reason.replaceAll('%', 'input'));
    expect(called).toBe(0);
    expect(reasonOf(await failureOf(run(sidecar), () => value))).toContain(reason.replaceAll('%', 'output'));
    const entries = await sidecar.entries();
    expect(entries).toMatchObject([
      { decision: 'deny', code: 'redaction_unsupported' },
      { decision: 'allow' },
      { outcome: { action: 'block', code: 'redaction_unsupported' } },
    ]);
    expect(JSON.stringify(entries)).not.toContain(ann);
  }
});

test('what redaction cannot read passes unchanged where policy only logs, and where it redacts only in audit mode', async () => {
  const audited = { documents: [{ ...ruleFor('mail.send', { transform: 'redact' }), mode: 'audit' as const }] };
  for (const world of [{}, audited]) {
    const sidecar = await createTestSidecar({ world });
    const got: unknown[] = [];
    const answer = await run(sidecar).guard('mail.send', (input: unknown) => {
      got.push(input);
      return bytes;
    })(bytes);
    expect(got[0]).toBe(bytes);
    expect(answer).toBe(bytes);
  }
});

test('for an error of a tool its caller gets a new error with the redacted message, and nothing else', async () => {
  const sidecar = await createTestSidecar({ world: redacting });
  const response = { body: ann, request: new Map([[ann, ann]]) };
  const failures: readonly (readonly [unknown, string])[] = [
    [Object.assign(new TypeError('no such mailbox', { cause: new Error(ann) }), { response, code: 550 }), 'no such mailbox'],
    [new AggregateError([new Error(ann), ann], 'all failed'), 'all failed'],
    [new Error(`no mailbox ${ann}`), 'no mailbox [redacted:email#1]'],
    [ann, '[redacted:email#1]'],
    [{ message: `no ${ann}`, to: ann }, 'no [redacted:email#1]'],
    [{ to: ann }, '{"to":"[redacted:email#1]"}'],
    [Object.assign(new Error('x'), { message: { to: ann } }), '{"to":"[redacted:email#1]"}'],
    [undefined, 'null'],
    [
      Object.defineProperty(new Error('x'), 'message', {
        get: () => {
          throw new Error(ann);
        },
      }),
      'the tool failed',
    ],
  ];
  const own = run(sidecar);
  for (const [thrown, message] of failures) {
    const failure = await failureOf(own, thrownBy(thrown));
    expect(Object.is(failure, thrown)).toBe(false);
    expect(failure).toBeInstanceOf(Error);
    const { stack = '', ...fields } = Object.fromEntries(
      Object.getOwnPropertyNames(failure).map((name) => [name, String(Reflect.get(Object(failure), name))]),
    );
    expect(fields).toEqual({ message });
    expect(stack).not.toContain(ann);
  }
  expect(JSON.stringify(await sidecar.entries())).not.toContain(ann);
});

test('the findings in an error are in its entry, also deep in causes, and within bounds', async () => {
  const sidecar = await createTestSidecar({ world: redacting });
  const looped = new Error('outer');
  looped.cause = new Error(ann, { cause: looped });
  await failureOf(run(sidecar), thrownBy(looped));
  await failureOf(run(sidecar), thrownBy(new AggregateError([Object.assign(new Error('inner'), { to: ann })], 'outer')));
  const huge = Object.assign(new Error('outer'), { a: 'x'.repeat(600_000), b: 'y'.repeat(600_000) });
  expect(await failureOf(run(sidecar), thrownBy(huge))).toMatchObject({ message: 'outer' });
  const outcomes = (await sidecar.entries()).filter(({ hookEvent }) => hookEvent === 'PostToolUse');
  expect(outcomes).toMatchObject([
    { outcome: { isError: true, action: 'redact' }, findings: [{ kind: 'email' }] },
    { outcome: { isError: true, action: 'redact' }, findings: [{ kind: 'email', count: 1 }] },
    { outcome: { isError: true, action: 'pass' } },
  ]);
});

test('a value in the fields of an error is removed from its message too', async () => {
  const thrown = Object.assign(new Error('Zw3-Rauhreif+71 was refused'), { config: { password: 'Zw3-Rauhreif+71' } });
  const failure = await failureOf(run(await createTestSidecar({ world: redacting })), thrownBy(thrown));
  expect(failure).toMatchObject({ message: '[redacted:password#1] was refused' });
});

test('a denial inside a tool reaches its caller as a denial, and the tool has its outcome', async () => {
  const world = {
    documents: [
      {
        ...document(),
        tools: [...ruleFor('mail.erase', { permission: 'deny' }).tools, ...redacting.documents.flatMap(({ tools }) => tools)],
      },
    ],
  };
  const sidecar = await createTestSidecar({ world: { ...world, agents: [agent({ enabledTools: ['mail.*'] })] } });
  const own = run(sidecar);
  const failure = await failureOf(own, () => own.guard('mail.erase', () => 'unreached')(null));
  expect(reasonOf(failure)).toMatch(/^policy_denied: /);
  expect(await sidecar.entries()).toMatchObject([
    { decision: 'allow', tool: 'mail.send' },
    { decision: 'deny', tool: 'mail.erase' },
    { hookEvent: 'PostToolUse', tool: 'mail.send', outcome: { isError: true } },
  ]);
});

test('a failure of redaction itself is a denial with an entry, never a failure of the tool', async () => {
  const sidecar = await createTestSidecar({ world: redacting });
  const own = run(sidecar);
  const breakRedaction = (): void => {
    Object.defineProperty(sidecar.cell.current?.settings.redaction ?? {}, 'exceptions', {
      get: () => {
        throw new Error('a bug');
      },
    });
  };
  const failure = await failureOf(own, () => {
    breakRedaction();
    return ann;
  });
  expect(reasonOf(failure)).toMatch(/^internal_error: /);
  expect(reasonOf(await failureOf(own, () => 'unreached'))).toMatch(/^internal_error: /);
  const { app } = createTestServer(sidecar);
  const answer = await app.inject({
    method: 'POST',
    url: '/govern/tool-output',
    headers: { authorization: `Bearer ${keyText('key1')}` },
    payload: { tool_name: 'mail.send', session_id: 's1', agent_name: 'bot', tool_input: null, tool_output: ann },
  });
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toMatchObject({ action: 'block', reason: expect.stringMatching(/^internal_error: /) });
  const entries = await sidecar.entries();
  expect(entries).toMatchObject([
    { decision: 'allow' },
    { hookEvent: 'PostToolUse', outcome: { isError: false, action: 'block', code: 'internal_error' } },
    { decision: 'deny', code: 'internal_error' },
    { hookEvent: 'PostToolUse', outcome: { action: 'block', code: 'internal_error' } },
  ]);
  expect(JSON.stringify(entries)).not.toContain(ann);
});

test('a reason that one tool may quote unchanged is redacted for another tool', async () => {
  const tools = ['mail.read', 'mail.send'];
  const exceptions = [['mail.read', ['email']]] as const;
  const sidecar = await createTestSidecar({
    world: { settings: settings({ redaction: { ...plainRedaction, exceptions } }), agents: [agent({ name: ann, suspended: true })] },
  });
  const own = startRun(sidecar, { agent: ann, tier: 'interactive' });
  const reasons: string[] = [];
  for (const tool of tools) {
    const verdict = await own.decide({ tool, input: null });
    reasons.push(verdict.decision.reason);
  }
  expect(reasons[0]).toContain(ann);
  expect(reasons[1]).not.toContain(ann);
});
