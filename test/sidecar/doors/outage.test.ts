// The outage rule at the door of a sidecar: exact to the millisecond, by tier, and visible in every place that reports
// it.
import { type Tier, tiers } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { checkDocument } from '../../../sidecar/engine/compile/policy-document.ts';
import { createTestServer, createTestSidecar } from '../../support/governing.ts';
import { agent, keyText, ruleFor, type World } from '../../support/snapshots.ts';

const then = { interactive: 'last_known', subagent: 'deny', background: 'last_known', api: 'deny' } as const;
const ruled = (maxStalenessSeconds: number, world: World = {}): World => ({
  ...world,
  settings: { ...world.settings, outage: { maxStalenessSeconds, then } },
});

async function start(world: World) {
  const sidecar = await createTestSidecar({ world });
  const { app } = createTestServer(sidecar);
  const heardAt = sidecar.time.now;
  return {
    sidecar,
    /** Sets the time since the last contact with the control plane. */
    silentFor: (ms: number): void => {
      sidecar.time.now = heardAt + ms;
    },
    call: async (tier: Tier, tool = 'mail.send'): Promise<string> => {
      const answer = await app.inject({
        method: 'POST',
        url: '/govern/tool-use',
        headers: { authorization: `Bearer ${keyText('key1')}`, 'content-type': 'application/json' },
        payload: JSON.stringify({ tool_name: tool, tool_input: {}, session_id: 's', agent_name: 'bot', agent_tier: tier }),
      });
      return String(answer.json<Record<string, unknown>>()['reason']).split(':', 1)[0] ?? '';
    },
    seen: async () => {
      const health = (await app.inject('/healthz')).json<{ readonly policy: { readonly outage: boolean; readonly ageMs: number } }>();
      const metrics = (await app.inject('/metrics')).body;
      const metric = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
      return {
        health: health.policy.outage,
        ageMs: health.policy.ageMs,
        metric: metric('tollgate_policy_outage'),
        decisions: metric('tollgate_outage_decisions_total'),
      };
    },
  };
}

test.each([3, 60, 3_600])('after %i s to the millisecond, each tier follows its own rule, and every report shows it', async (seconds) => {
  const { sidecar, silentFor, call, seen } = await start(ruled(seconds, { agents: [agent({ maxDurationMs: 10_000_000 })] }));
  for (const ms of [0, seconds * 1_000 - 1, seconds * 1_000]) {
    silentFor(ms);
    for (const tier of tiers) expect(await call(tier)).toBe('allowed');
    expect(await seen()).toEqual({ health: false, ageMs: ms, metric: 0, decisions: 0 });
  }
  silentFor(seconds * 1_000 + 1);
  for (const tier of tiers) expect(await call(tier)).toBe(then[tier] === 'deny' ? 'outage' : 'allowed');
  expect(await seen()).toEqual({ health: true, ageMs: seconds * 1_000 + 1, metric: 1, decisions: 4 });
  sidecar.cell.heard(1);
  for (const tier of tiers) expect(await call(tier)).toBe('allowed');
  expect(await seen()).toEqual({ health: false, ageMs: 0, metric: 0, decisions: 4 });
  const entries = await sidecar.entries();
  expect(entries.map(({ outage }) => outage ?? false)).toEqual([
    ...Array.from({ length: 12 }, () => false),
    ...tiers.map(() => true),
    ...tiers.map(() => false),
  ]);
  // The policy age in an entry is the age that the rule used.
  for (const { outage, policyAgeMs } of entries) expect(outage === true).toBe((policyAgeMs ?? 0) > seconds * 1_000);
});

test('zero means as soon as the stream is lost, however recent the last contact with the control plane was', async () => {
  const { sidecar, silentFor, call, seen } = await start(ruled(0));
  silentFor(60_000);
  expect([await call('api'), (await seen()).health]).toEqual(['allowed', false]);
  sidecar.cell.lost();
  expect([await call('api'), await call('interactive'), (await seen()).health]).toEqual(['outage', 'allowed', true]);
  sidecar.cell.heard(1);
  expect([await call('api'), (await seen()).health]).toEqual(['allowed', false]);
});

test('last_known changes no step: rules, limits and caps are those of the held revision', async () => {
  const { sidecar, silentFor, call } = await start(
    ruled(3, {
      documents: [
        {
          ...ruleFor('mail.send', { rateLimit: 2 }),
          tools: [
            ['github.delete', [['interactive', { permission: 'deny' }]]],
            ['mail.send', [['interactive', { rateLimit: 2 }]]],
          ],
        },
      ],
    }),
  );
  silentFor(3_001);
  expect([await call('interactive'), await call('interactive', 'github.delete'), await call('interactive', 'other.tool')]).toEqual([
    'allowed',
    'policy_denied',
    'agent_tools',
  ]);
  expect([await call('interactive'), await call('interactive')]).toEqual(['allowed', 'rate_limited']);
  const entries = await sidecar.entries();
  expect(entries.map(({ outage, revision }) => [outage, revision])).toEqual(Array.from({ length: 5 }, () => [true, 1]));
  expect(sidecar.outageDecisions).toBe(5);
});

test('without a snapshot every call is denied, whatever any rule would decide', async () => {
  const sidecar = await createTestSidecar({ world: null });
  expect(sidecar.cell.status()).toMatchObject({ outage: false, revision: null });
  expect(sidecar.notReady()).toEqual(['no policy is held']);
});

test.each([1, 2, -1, 2.5, '3', null, 31_536_001])(
  'a workspace document cannot contain %s seconds, and the error names the valid range',
  (seconds) => {
    expect(checkDocument('workspace', 'organisation', { outage: { maxStalenessSeconds: seconds } })).toEqual([
      { path: 'outage.maxStalenessSeconds', message: 'must be 0, or an integer from 3 to 31536000' },
    ]);
  },
);

test('a workspace document can contain 0, 3 and a year; only existing tiers, and only valid choices', () => {
  for (const seconds of [0, 3, 31_536_000])
    expect(checkDocument('workspace', 'organisation', { outage: { maxStalenessSeconds: seconds, then: { api: 'last_known' } } })).toEqual(
      [],
    );
  expect(checkDocument('workspace', 'organisation', { outage: { then: { api: 'allow', robot: 'deny' } } })).toEqual([
    { path: 'outage.then.api', message: 'must be "deny" or "last_known"' },
    { path: 'outage.then.robot', message: expect.any(String) },
  ]);
  expect(checkDocument('role', 'organisation', { outage: {} })).toHaveLength(1);
});
