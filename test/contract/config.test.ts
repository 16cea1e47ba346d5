import { choice, configTable, integer, printableConfig, programVariables, readConfig, text } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { cliVariables } from '../../cli/api/connect.ts';
import { variablesForApps } from '../../deploy/inject/app-environment.ts';
import { configSchema } from '../../control-plane/app/config.ts';
import { sidecarSchema } from '../../sidecar/app/config.ts';

const schema = {
  key: text({
    name: 'TOLLGATE_KEY',
    describe: 'a key',
    fallback: null,
    secret: true,
    check: (value) => (value.startsWith('gsk_') ? null : `${value} is no key`),
  }),
  host: text({ name: 'TOLLGATE_HOST', describe: 'a host', fallback: 'localhost' }),
  port: integer({ name: 'TOLLGATE_PORT', describe: 'a port', fallback: 8080, min: 0, max: 65_535 }),
  level: choice({ name: 'TOLLGATE_LEVEL', describe: 'how much', fallback: 'info', choices: ['debug', 'info'] }),
  other: text({ name: 'DATABASE_URL', describe: 'a database', fallback: null, secret: true }),
} as const;

const problemsOf = (env: Readonly<Record<string, string>>, shared: readonly string[] = []): readonly string[] => {
  const read = readConfig(schema, env, shared);
  return 'problems' in read ? read.problems : [];
};

test('an absent or empty variable has its fallback', () => {
  const fallbacks = { config: { key: null, host: 'localhost', port: 8080, level: 'info', other: null } };
  expect(readConfig(schema, {})).toEqual(fallbacks);
  expect(
    readConfig(schema, { TOLLGATE_KEY: '', TOLLGATE_HOST: '', TOLLGATE_PORT: '', TOLLGATE_LEVEL: '', DATABASE_URL: '', HOME: '/root' }),
  ).toEqual(fallbacks);
});

test('a set variable is read at its type', () => {
  expect(readConfig(schema, { TOLLGATE_KEY: 'gsk_x', TOLLGATE_PORT: '0', TOLLGATE_LEVEL: 'debug' })).toMatchObject({
    config: { key: 'gsk_x', port: 0, level: 'debug' },
  });
});

test('every problem is reported at once, each naming its variable', () => {
  expect(problemsOf({ TOLLGATE_KEY: 'hunter2', TOLLGATE_PORT: '65536', TOLLGATE_LEVEL: 'loud', TOLLGATE_HOTS: 'x' })).toEqual([
    'TOLLGATE_KEY *** is no key',
    'TOLLGATE_PORT must be an integer from 0 to 65535, is "65536"',
    'TOLLGATE_LEVEL must be one of debug, info, is "loud"',
    'TOLLGATE_HOTS is not a variable of this program',
  ]);
});

test.each(['-1', '1.5', '0x10', '1e3', ' 1', '١', 'NaN', '99999999999999999999'])('%j is not a port', (port) => {
  expect(problemsOf({ TOLLGATE_PORT: port })).toHaveLength(1);
});

test('unknown variables with our prefix are rejected, shared ones and those of other programs are not', () => {
  expect(problemsOf({ TOLLGATE_SHARED: 'x', OTHER: 'x', tollgate_x: 'y' }, ['TOLLGATE_SHARED'])).toEqual([]);
  expect(problemsOf({ TOLLGATE_: 'x' })).toEqual(['TOLLGATE_ is not a variable of this program']);
});

test('a choice named as a prototype property is not a choice', () => {
  for (const level of ['constructor', '__proto__', 'toString']) expect(problemsOf({ TOLLGATE_LEVEL: level })).toHaveLength(1);
});

test('the variables that Kubernetes sets for a Service called tollgate-… are accepted, and similar ones are not', () => {
  const links = {
    TOLLGATE_EDGE_SERVICE_HOST: '10.0.0.1',
    TOLLGATE_EDGE_SERVICE_PORT: '80',
    TOLLGATE_EDGE_SERVICE_PORT_HTTP: '80',
    TOLLGATE_EDGE_PORT: 'tcp://10.0.0.1:80',
    TOLLGATE_EDGE_PORT_80_TCP: 'tcp://10.0.0.1:80',
    TOLLGATE_EDGE_PORT_80_TCP_ADDR: '10.0.0.1',
  };
  expect(readConfig(schema, links)).toHaveProperty('config');
  // Variables of a Service whose name begins like one of our variables.
  expect(readConfig(schema, { TOLLGATE_KEY: 'gsk_a', TOLLGATE_PORT: 'tcp://10.0.0.1:80' })).toMatchObject({ config: { port: 8080 } });
  expect(readConfig(schema, { TOLLGATE_PROT: '80', TOLLGATE_GPRC_PORT: '80' })).toEqual({
    problems: ['TOLLGATE_PROT is not a variable of this program', 'TOLLGATE_GPRC_PORT is not a variable of this program'],
  });
});

test('a configuration is printed without its secrets, for which it shows only whether they are set', () => {
  const read = readConfig(schema, { TOLLGATE_KEY: 'gsk_secret' });
  if ('problems' in read) throw new Error(read.problems.join());
  expect(printableConfig(schema, read.config)).toEqual({ key: '***', host: 'localhost', port: 8080, level: 'info', other: null });
});

test('the table has a row for every variable, with its default', () => {
  expect(configTable(schema).split('\n')).toEqual([
    '| variable | meaning | default |',
    '|---|---|---|',
    '| `TOLLGATE_KEY` | a key |  |',
    '| `TOLLGATE_HOST` | a host | `localhost` |',
    '| `TOLLGATE_PORT` | a port | `8080` |',
    '| `TOLLGATE_LEVEL` | how much: `debug`, `info` | `info` |',
    '| `DATABASE_URL` | a database |  |',
  ]);
});

test('in the programs, a variable with a key or an address with a password is a secret, and every name is used once', () => {
  for (const program of [configSchema, sidecarSchema]) {
    const variables = Object.values(program);
    const open = variables.filter(({ name, secret }) => /KEY$|SECRET$|_URL$/.test(name) && !secret).map(({ name }) => name);
    // The URLs for browsers are not secret, and hold no password.
    expect(open.filter((name) => !['TOLLGATE_PUBLIC_URL', 'TOLLGATE_TRACE_URL'].includes(name))).toEqual([]);
    expect(new Set(variables.map(({ name }) => name)).size).toBe(variables.length);
  }
});

test('both programs tolerate the variables of their two schemas, of the command line and of injection', () => {
  const named = [...Object.values(configSchema), ...Object.values(sidecarSchema)]
    .map(({ name }) => name)
    .filter((name) => name.startsWith('TOLLGATE_'));
  expect(new Set(programVariables)).toEqual(new Set([...named, ...cliVariables, ...variablesForApps]));
});

test.each([
  ['https://traces.test/t/{traceId}', null],
  ['http://127.0.0.1:16686/trace/{traceId}?a=1#b', null],
  ['https://traces.test/t', 'must contain {traceId}'],
  ['javascript:alert("{traceId}")', 'must be an http:// or https:// URL'],
  ['traces.test/{traceId}', 'must be an http:// or https:// URL'],
  ['https://{traceId}.test/', 'must have {traceId} after the host'],
  ['https://user:secret@traces.test/{traceId}', 'must hold no user'],
])('TOLLGATE_TRACE_URL %s: %s', (value, problem) => {
  const read = readConfig(configSchema, { TOLLGATE_TRACE_URL: value });
  const problems = 'problems' in read ? read.problems : [];
  expect(problems).toEqual(problem === null ? [] : [expect.stringContaining(`TOLLGATE_TRACE_URL ${problem}`)]);
});
