// No attack that succeeded with a stolen key at dd0685b succeeds now: `test/trust/at.ts` shows that each did then. The
// tests use the built programs.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { attacks } from './attacks.ts';
import { openTestStage } from './stage.ts';

let opened: Awaited<ReturnType<typeof openTestStage>>;

beforeAll(async () => {
  opened = await openTestStage();
}, 60_000);
afterAll(() => opened.close());

test.each(attacks)(
  'a key of $key: no attacker $name',
  async ({ succeeds }) => {
    expect(await succeeds(opened.stage)).toBe(false);
  },
  60_000,
);
