// `tollgate stats`: tables for people, and the whole answer with --json.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRest, type Rest } from '../control-plane/rest.ts';
import { entry, records, ship, spool } from '../control-plane/spool.ts';
import { createCli, jsonOf } from './cli.ts';

let rest: Rest;
let tollgate: ReturnType<typeof createCli>;
beforeAll(async () => {
  rest = await createRest();
  rest.clock.now = new Date('2026-06-25T12:30:00.000Z');
  tollgate = createCli(rest.origin, rest.owner, { now: rest.clock.now });
});
afterAll(() => rest.close());

test('without calls, each says so on standard error', async () => {
  for (const [words, said] of [
    [['stats'], 'no call was decided from 2026-06-25 11:30:00Z to 2026-06-25 12:30:00Z'],
    [['stats', 'redactions', '--since', '7d'], 'nothing was redacted from 2026-06-18 12:00:00Z to 2026-06-25 13:00:00Z'],
    [['stats', 'spend'], 'no run has cost anything on 2026-06-25 (UTC)'],
    [['stats', 'unknown-agents'], 'since 2026-05-26 00:00:00Z, only registered agents have called'],
  ] as const)
    expect(await tollgate(words)).toMatchObject({ code: 0, out: '', err: expect.stringContaining(said) });
});

test('groups are rows with their share; what is not shown is counted, and continues after --cursor', async () => {
  const denied = { decision: 'deny', code: 'policy_denied', agentName: '' } as const;
  await ship(rest, spool('a'), [
    ...records(1, 6, (n) => entry({ tool: `tool-${n % 3}`, ...(n % 3 === 0 ? denied : {}) })),
    ...records(7, 7, () => entry({ tool: 'tool-1', transform: 'redact', findings: [{ kind: 'email', count: 4 }] })),
  ]);
  const { code, out, err } = await tollgate(['stats', 'decisions', '--by', 'tool', '--since', '24h', '--top', '2']);
  expect({ code, lines: out.trimEnd().split('\n') }).toEqual({
    code: 0,
    lines: ['tool    count  share   newest', 'tool-1  3      42.9 %  2026-06-25 12:00:00Z', 'tool-0  2      28.6 %  2026-06-25 12:00:00Z'],
  });
  expect(err).toMatch(/^7 from 2026-06-24 12:00:00Z to 2026-06-25 13:00:00Z\nthere are 1 more, with 2: --cursor \S+\n$/);
  const next = /--cursor (\S+)/.exec(err)?.[1] ?? '';
  expect((await tollgate(['stats', 'decisions', '--by', 'tool', '--cursor', next])).out).toContain('tool-2  2');
  expect((await tollgate(['stats', '--by', 'agent', '--outcome', 'deny'])).out).toMatch(/^\(none\) +2 +100\.0 %/m);
  expect((await tollgate(['stats', 'redactions'])).out).toMatch(/^email +4 +100\.0 %/m);
  expect((await tollgate(['stats', 'unknown-agents'])).out).toMatch(/^bot +5 +0 +2026-06-25 12:00:00Z +2026-06-25 12:00:00Z$/m);
  expect(jsonOf(await tollgate(['stats', '--json']))).toMatchObject({
    every: 'minute',
    total: 7,
    groups: [
      { value: 'allow', total: 4, counts: [{ at: '2026-06-25T12:00:00.000Z', count: 4 }] },
      { value: 'deny', total: 2 },
      { value: 'redact', total: 1 },
    ],
    rest: { values: 0, total: 0, counts: [] },
  });
});

test('its help shows what can be asked, with examples', async () => {
  const { out } = await tollgate(['stats', '--help']);
  for (const words of ['decisions', 'redactions', 'spend', 'unknown-agents']) expect(out).toContain(words);
  expect((await tollgate(['stats', 'decisions', '--help'])).out).toContain('tollgate stats decisions --by tool --outcome deny --since 7d');
});
