import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRest, type Rest } from './rest.ts';
import { entry, record, ship, spool } from './spool.ts';

let rest: Rest;
let cases = 0;
beforeAll(async () => {
  rest = await createRest();
});
afterAll(() => rest.close());

const shown = async (spoolId: string) => {
  const { body } = await rest.ask('GET', '/acme/admin/audit?since=2000-01-01T00:00:00Z&limit=1000');
  return (Object(body).entries as readonly Record<string, unknown>[]).filter(({ id }) => String(id).startsWith(spoolId));
};

describe('an invalid entry is sanitised and marked, and delays no other', () => {
  const now = '2026-06-25T12:00:00.000Z';
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const undecidedCase = { document: 'workspace', path: 'defaults.api.cases["large"]', reason: 'absent', at: 'args.amount' };
  const { input: _input, ...withoutInput } = entry();
  const text = (fields: Record<string, unknown>) => JSON.stringify({ ...withoutInput, ...fields });
  const raw = (field: string) => text({}).replace(/^{/, `{${field},`);

  test.each<[string, string | Buffer, readonly string[], Record<string, unknown>]>([
    ['NUL in a text', text({ decisionReason: 'a\0b' }), ['nul'], { decisionReason: 'a\uFFFDb' }],
    ['NUL in the tool', text({ tool: 'a\0b' }), ['nul'], { tool: 'a\uFFFDb' }],
    ['NUL in a key', text({ input: { 'a\0': 1 } }), ['nul'], { input: { 'a\uFFFD': 1 } }],
    ['half a surrogate pair', raw('"input":"\\ud83d"'), ['surrogate'], { input: '\uFFFD' }],
    ['the halves in the wrong order', raw('"input":"\\ude42\\ud83d"'), ['surrogate'], { input: '\uFFFD\uFFFD' }],
    ['a number that no double holds', raw('"input":[1e400,1]'), ['number'], { input: [null, 1] }],
    [
      'numbers that are megabytes when written out',
      raw(`"input":[${Array(8_000).fill('1e-300').join()}]`),
      ['oversize'],
      { inputCut: true },
    ],
    ['numbers of science', raw(`"input":["${'1.6e-19 '.repeat(100)}",1.6e-19]`), [], {}],
    ['too much input', text({ input: 'x'.repeat(70_000) }), ['oversize'], { inputCut: true }],
    [
      'too much of everything',
      text({ decisionReason: 'r'.repeat(70_000), more: 'm'.repeat(70_000) }),
      ['oversize'],
      { decisionReason: 'r'.repeat(512) },
    ],
    ['a tool name past what an index takes', text({ tool: '🙂'.repeat(5000) }), ['tool'], { tool: '🙂'.repeat(256) }],
    [
      'a session past what an index takes',
      text({ sessionId: `x${'🙂'.repeat(5000)}` }),
      ['sessionId'],
      { sessionId: `x${'🙂'.repeat(255)}` },
    ],
    ['a time 25 hours ahead', text({ ts: '2026-06-26T13:00:00.000Z' }), ['ts'], { ts: now, tsClaimed: '2026-06-26T13:00:00.000Z' }],
    ['a time in the year 9999', text({ ts: '9999-12-31T23:59:59.999Z' }), ['ts'], { ts: now }],
    ['a time of a clock that was never set', text({ ts: '1970-01-01T00:00:07.000Z' }), ['ts'], { ts: now }],
    ['a time that is none', text({ ts: 'yesterday' }), ['ts'], { ts: now, tsClaimed: 'yesterday' }],
    ['a time that is a number', text({ ts: 1_782_388_800_000 }), ['ts'], { ts: now }],
    ['an impossible date', text({ ts: '2026-13-45T00:00:00Z' }), ['ts'], { ts: now }],
    ['an unknown decision', text({ decision: 'maybe' }), ['decision'], { decision: 'deny' }],
    [
      'wrong types',
      text({ tool: 7, sub: null, depth: '1', client: 'x', agentTier: 'nightly', hookEvent: 1 }),
      ['agentTier', 'client', 'depth', 'hookEvent', 'sub', 'tool'],
      { tool: '', sub: '', depth: 0, client: { name: '' } },
    ],
    ['a depth that breaks stacks', raw(`"input":${deep}`), ['depth'], { decision: 'allow' }],
    ['keys that are no names', raw('"__proto__":{"decision":"deny"},"constructor":1'), [], { decision: 'allow', constructor: 1 }],
    ['a number past what a double can', raw('"input":{"a":[1e400]}'), ['number'], { input: { a: [null] } }],
    ['such a number in a field of its own', raw('"durationMs":-1e400'), ['number'], { durationMs: null }],
    ['half a character', Buffer.from(raw('"input":"\xf0\x9f"'), 'latin1'), ['utf8'], { input: '\uFFFD' }],
    ['an undecided case', text({ undecided: [undecidedCase] }), [], { undecided: [undecidedCase] }],
    ['a uid of the caller', text({ peerUid: 0 }), [], { peerUid: 0 }],
    ['a uid that cannot be', text({ peerUid: 2 ** 32 }), ['peerUid'], {}],
    ['a uid that is a text', text({ peerUid: '0' }), ['peerUid'], {}],
    ['undecided cases that are a text', text({ undecided: 'all' }), ['undecided'], {}],
    ['too many undecided cases', text({ undecided: Array.from({ length: 17 }, () => undecidedCase) }), ['undecided'], {}],
    ['an undecided case without a place', text({ undecided: [{ ...undecidedCase, path: 7 }] }), ['undecided'], {}],
    ['an undecided case with a long text', text({ undecided: [{ ...undecidedCase, at: 'a'.repeat(257) }] }), ['undecided'], {}],
    ['an undecided case with more than texts', text({ undecided: [{ ...undecidedCase, more: [1] }] }), ['undecided'], {}],
    [
      'undecided cases that are long together',
      text({ undecided: Array.from({ length: 16 }, () => ({ ...undecidedCase, document: '\u20ac'.repeat(1_000) })) }),
      ['undecided'],
      {},
    ],
    ['a list', '[1]', ['json'], { decision: 'deny' }],
    ['null', 'null', ['json'], { decision: 'deny' }],
    ['no JSON', '{"tool": "half', ['json'], { decision: 'deny', raw: '{"tool": "half' }],
    ['nothing', '', ['json'], { decision: 'deny' }],
    ['bytes that are no UTF-8', Buffer.from([0xff, 0xfe, 0x00]), ['json', 'utf8'], { decision: 'deny' }],
  ])('%s', async (_, content, marks, wanted) => {
    const spoolId = `${++cases}`.padStart(32, '0');
    const poisoned = { sequence: 2, content: { entry: Buffer.from(content) } };
    expect(await ship(rest, spoolId, [record(1, entry()), poisoned, record(3, entry())])).toBe(3);
    const found = await shown(spoolId);
    expect(found).toHaveLength(3);
    const mended = found.find(({ id }) => id === `${spoolId}-2`);
    expect(mended).toMatchObject(wanted);
    for (const mark of marks) expect(mended?.['mended']).toContain(mark);
    for (const removed of ['undecided', 'peerUid']) if (marks.includes(removed)) expect(mended).not.toHaveProperty(removed);
    if (marks.length === 0) expect(mended).not.toHaveProperty('mended');
    for (const sound of found.filter((one) => one !== mended)) expect(sound).not.toHaveProperty('mended');
  });

  test('a valid entry is returned with every field as it was sent', async () => {
    const full = entry({
      agentId: 'x',
      originSub: 'ann',
      depth: 2,
      chain: ['root', 'middle'],
      runChain: ['r1', 'r2'],
      parentProfileId: 'p',
      outage: true,
      rule: { layer: 'role', path: 'tools["a\tb"].api', revision: 3 },
      shadow: { decision: 'deny', code: 'policy_denied', reason: 'would_deny', transform: 'log' },
      findings: [{ kind: 'email', count: 2 }],
      outcome: { isError: false, durationMs: 3 },
      ts: '2026-06-25T11:59:59.123Z',
    });
    await ship(rest, spool('a'), [record(1, full)]);
    expect(await shown(spool('a'))).toEqual([
      { ...full, id: `${spool('a')}-1`, receivedAt: now, recordedBy: 'key-1', deliveredBy: 'key-1' },
    ]);
  });
});
