// Every recorded input of every host, in every circumstance: checks the exact bytes of the answer to the host.
import { hosts } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import { circumstances, recorded, startHosts, worldOf } from './recorded.ts';

test('there are recordings of every host, before a call and after', () => {
  for (const host of hosts) {
    const names = recorded.filter((one) => one.host === host).map(({ name }) => name);
    expect(names.some((name) => /^(?:pre|before)-/.test(name))).toBe(true);
    expect(names.some((name) => /^(?:post|after)-/.test(name))).toBe(true);
  }
});

describe.each(circumstances)('%s', (circumstance) => {
  test.each(recorded)('$host $name', async ({ host, tool, input, answers }) => {
    const { ask, lines } = await startHosts(worldOf(circumstance, tool));
    expect(await ask(host, input)).toMatchObject({ status: 200, text: answers[circumstance] });
    // The sent data appears in no answer and no log.
    expect(answers[circumstance] + lines.join('')).not.toContain('bob@');
  });
});
