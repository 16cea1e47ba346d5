// What the environment can set for a collector, and the resulting settings.
import { printableConfig, readConfig } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { collectorFrom, headersProblem } from '../../control-plane/audit/export/settings.ts';
import { type Config, configSchema, exportProblems } from '../../control-plane/app/config.ts';

const problemsOf = (env: Readonly<Record<string, string>>): readonly string[] => {
  const read = readConfig(configSchema, env);
  return 'problems' in read ? read.problems : exportProblems(read.config);
};
const endpoint = (value: string, more: Readonly<Record<string, string>> = {}) => ({ TOLLGATE_AUDIT_EXPORT_ENDPOINT: value, ...more });

test.each([
  [endpoint('https://collector.example/v1/logs')],
  [endpoint('http://127.0.0.1:4318/v1/logs')],
  [endpoint('http://[::1]:4318')],
  [endpoint('http://collector:4318/v1/logs', { TOLLGATE_ALLOW_PLAINTEXT: 'true' })],
  [endpoint('https://collector.example/v1/logs', { TOLLGATE_AUDIT_EXPORT_HEADERS: 'authorization=Bearer%20abc, x-scope = a=b ' })],
  [{}],
])('%j is accepted', (env) => {
  expect(problemsOf(env)).toEqual([]);
});

test.each<readonly [Readonly<Record<string, string>>, string]>([
  [endpoint('collector:4318'), 'must be the whole URL'],
  [endpoint('grpc://collector:4317'), 'must be the whole URL'],
  [endpoint('https://me:pw@collector/v1/logs'), 'must not contain a user or a password'],
  [endpoint('http://collector:4318/v1/logs'), 'TOLLGATE_ALLOW_PLAINTEXT=true'],
  [{ TOLLGATE_AUDIT_EXPORT_HEADERS: 'a=b' }, 'needs TOLLGATE_AUDIT_EXPORT_ENDPOINT'],
  [endpoint('https://c', { TOLLGATE_AUDIT_EXPORT_HEADERS: 'hunter2' }), 'must be name=value pairs'],
  [endpoint('https://c', { TOLLGATE_AUDIT_EXPORT_HEADERS: 'a=%zz' }), 'must be name=value pairs'],
  [endpoint('https://c', { TOLLGATE_AUDIT_EXPORT_HEADERS: 'a=b%0d%0ac: d' }), 'must be name=value pairs'],
  [endpoint('https://c', { TOLLGATE_AUDIT_EXPORT_HEADERS: 'Content-Type=text/plain' }), 'must not set content-type'],
])('%j is rejected: %s', (env, words) => {
  const problems = problemsOf(env);
  expect(problems).toEqual([expect.stringContaining(words)]);
  expect(problems[0]).not.toContain('hunter2');
});

test('an address without a path gets the path of logs, any other is unchanged', () => {
  expect(collectorFrom('https://collector:4318', null).endpoint).toBe('https://collector:4318/v1/logs');
  expect(collectorFrom('https://collector/otlp/v1/logs?source=a', null).endpoint).toBe('https://collector/otlp/v1/logs?source=a');
});

test('headers are decoded, and printed nowhere', () => {
  const read = readConfig(configSchema, endpoint('https://c', { TOLLGATE_AUDIT_EXPORT_HEADERS: 'Authorization=Bearer%20a%2Cb,x=y' }));
  const config: Config | null = 'config' in read ? read.config : null;
  expect(collectorFrom('https://c', config?.auditExportHeaders ?? null).headers).toEqual({ authorization: 'Bearer a,b', x: 'y' });
  expect(config === null ? '' : JSON.stringify(printableConfig(configSchema, config))).not.toContain('Bearer');
  expect(headersProblem('')).toBe(null);
});
