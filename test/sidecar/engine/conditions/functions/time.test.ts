// Times in zones, by the zone database and never by the zone of the process.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { answerOf, problemOf } from './answers.ts';
import { zoneRows } from './zone-rows.ts';

test.each(zoneRows)('%s at %s', (condition, now) => {
  expect(answerOf(condition, {}, Date.parse(now))).toBe(true);
});

test.each([
  ['America/New_York', 300],
  ['Asia/Kathmandu', -345],
])('a process in the zone %s answers the same', (TZ, offset) => {
  const script = fileURLToPath(new URL('zone-rows.ts', import.meta.url));
  const { stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--conditions=tollgate-source', script], {
    env: { ...process.env, TZ },
  });
  expect(stderr.toString()).toBe('');
  expect(JSON.parse(stdout.toString())).toEqual({ offset, answers: zoneRows.map(() => true) });
});

test.each(['Europe/Nowhere', '', 'local', '+2', '+24:00', '+02:60', '0200', 'Europe/Berlin ', '../Europe/Berlin', 'x'.repeat(1_000)])(
  'the zone %j does not exist',
  (zone) => {
    expect(problemOf(`now.getHours(${JSON.stringify(zone)}) == 1`)).toContain('which does not exist');
  },
);

test.each(['now.getHours(args.zone) == 1', 'now.getHours("Europe/" + args.city) == 1', 'args.zones.exists(z, now.getHours(z) == 1)'])(
  '%s is refused: a caller could choose the zone',
  (source) => {
    expect(problemOf(source)).toContain('a time zone that is no text in quotes');
  },
);

test.each([
  ['timestamp("2026-01-01T00:00:00+01:00") == timestamp("2025-12-31T23:00:00Z")', true],
  ['timestamp(args.at) > now', 'unclear'],
  ['now - timestamp("1969-12-31T23:00:00Z") == duration("1h")', true],
  ['duration("90m").getHours() == 1 && duration("90m").getMinutes() == 90', true],
])('%s: %s', (condition, answer) => {
  expect(answerOf(condition, { at: 'tomorrow' }, 0)).toBe(answer);
});
