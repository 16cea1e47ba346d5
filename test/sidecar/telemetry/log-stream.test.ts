import { pino } from 'pino';
import { expect, test } from 'vitest';
import { logSerializers } from '../../../sidecar/app/log-serializers.ts';
import { type recordOf, teeLogs } from '../../../sidecar/telemetry/log-stream.ts';

type LogRecord = ReturnType<typeof recordOf>;

function logging() {
  const lines: string[] = [];
  const records: LogRecord[] = [];
  const stream = teeLogs({ write: (line) => void lines.push(line) }, { emit: (record) => void records.push(record) });
  return { lines, records, log: pino({ level: 'debug', serializers: logSerializers }, stream) };
}

test('a line is written to standard error as before, and is a record with its severity, text and fields', () => {
  const { lines, records, log } = logging();
  log.warn({ spool: 'a', found: { lost: 2 } }, 'a spool was damaged');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 40, spool: 'a', msg: 'a spool was damaged' });
  expect(records).toEqual([
    {
      severityNumber: 13,
      severityText: 'WARN',
      timestamp: expect.any(Number),
      body: 'a spool was damaged',
      attributes: { spool: 'a', found: { lost: 2 } },
    },
  ]);
});

test('an error is recorded by the conventions for exceptions, its cause too', () => {
  const { records, log } = logging();
  log.error({ err: new TypeError('no', { cause: new Error('deeper') }) }, 'a request failed with a server error');
  expect(records[0]).toMatchObject({
    severityNumber: 17,
    attributes: {
      'exception.type': 'TypeError',
      'exception.message': 'no',
      'exception.stacktrace': expect.stringContaining('TypeError: no'),
      'exception.cause': { type: 'Error', message: 'deeper' },
    },
  });
});

test('a line below the minimum level of the log is in neither', () => {
  const { lines, records, log } = logging();
  log.trace('no');
  log.debug('yes');
  expect([lines.length, records.length, records[0]?.severityText]).toEqual([1, 1, 'DEBUG']);
});
