import { status } from '@grpc/grpc-js';
import { AppError, codes, hasScope, isReasonCode, isRole, isScope, isTier, nackCodes, reasons, scopes } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';

test('every code has an HTTP status of a refusal and a gRPC status that exists', () => {
  for (const [code, { http, grpc }] of Object.entries(codes)) {
    expect({ code, http: http >= 400 && http <= 599, grpc: typeof status[grpc] }).toEqual({ code, http: true, grpc: 'number' });
  }
});

test('clients distinguish HTTP statuses, so no two codes share one', () => {
  const statuses = Object.values(codes).map(({ http }) => http);
  expect(new Set(statuses).size).toBe(statuses.length);
});

test('what can be retried without a change is 429, 502 and 503, nothing else', () => {
  expect(
    Object.values(codes)
      .filter(({ retryable }) => retryable)
      .map(({ http }) => http),
  ).toEqual([429, 502, 503]);
});

test('a refusal is passed on unchanged; everything else is a bug, whose message is not shown', () => {
  const refusal = new AppError({ code: 'conflict', publicMessage: 'there is one already', details: ['a', 'b'], retryAfterSeconds: 3 });
  expect(AppError.from(refusal)).toBe(refusal);
  expect(refusal).toMatchObject({ message: 'there is one already', details: ['a', 'b'], retryAfterSeconds: 3 });
  for (const reason of [new Error('secret'), 'secret', null, undefined, { code: 'conflict', publicMessage: 'secret' }]) {
    const bug = AppError.from(reason);
    expect(bug).toMatchObject({ code: 'internal', publicMessage: 'internal error', message: 'internal error', details: [], cause: reason });
  }
});

test('names of prototype properties are not codes', () => {
  for (const word of ['constructor', '__proto__', 'toString', 'hasOwnProperty', '', 'Allowed']) {
    expect([isReasonCode(word), isTier(word), isRole(word), isScope(word)]).toEqual([false, false, false, false]);
  }
  expect(Object.keys(reasons).every(isReasonCode)).toBe(true);
  expect(isTier(['api'])).toBe(false);
});

test('a scope is granted by name or by *, never by a part of a name', () => {
  expect(hasScope(['*'], 'sidecar.sync')).toBe(true);
  expect(hasScope(['govern'], 'govern')).toBe(true);
  expect(hasScope(['govern'], 'govern.impersonate')).toBe(false);
  expect(hasScope(['govern.impersonate'], 'govern')).toBe(false);
  expect(hasScope(['govern.*', 'agents'], 'agents.read')).toBe(false);
  expect(hasScope([], '*')).toBe(false);
  expect(new Set(scopes).size).toBe(scopes.length);
});

test('only a temporary refusal is marked as retryable', () => {
  const retried = Object.entries(reasons)
    .filter(([, kind]) => kind === 'retry')
    .map(([code]) => code);
  expect(retried.toSorted()).toEqual([
    'approval_expired',
    'approval_pending',
    'approval_unavailable',
    'approvals_full',
    'audit_unavailable',
    'caller_gone',
    'internal_error',
    'outage',
    'rate_limited',
    'request_limit',
    'sessions_full',
    'snapshot_missing',
  ]);
  expect(reasons.allowed).toBeNull();
  expect(new Set(nackCodes).size).toBe(nackCodes.length);
});
