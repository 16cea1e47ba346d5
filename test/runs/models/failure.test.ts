// Who caused a failure: a provider's failure is reported as the provider's, our own failure never is.
import {
  APICallError,
  EmptyResponseBodyError,
  InvalidArgumentError,
  InvalidPromptError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  NoSuchModelError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { ProviderFailed } from '../../../control-plane/runs/model.ts';
import { failureOf } from '../../../control-plane/runs/models/failure.ts';

const secret = 'what-the-user-said';
const call = (statusCode?: number, cause?: unknown) =>
  new APICallError({
    message: secret,
    url: 'https://x.test',
    requestBodyValues: { secret },
    ...(statusCode === undefined ? {} : { statusCode }),
    cause,
  });

test.each([
  call(500),
  call(401),
  call(200),
  call(undefined, new Error('socket hang up')),
  new EmptyResponseBodyError(),
  new InvalidResponseDataError({ data: secret }),
  new JSONParseError({ text: secret, cause: new Error(secret) }),
  TypeValidationError.wrap({ value: secret, cause: new Error(secret) }),
  Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
])('a provider that does not answer as it should has failed: %#', (error) => {
  const failure = failureOf('acme', error, 0);
  expect(failure.error).toBeInstanceOf(ProviderFailed);
  expect(String(failure.error)).not.toContain(secret);
});

test.each([
  new InvalidPromptError({ prompt: secret, message: secret }),
  new InvalidArgumentError({ argument: 'tools', message: secret }),
  new UnsupportedFunctionalityError({ functionality: secret }),
  new NoSuchModelError({ modelId: secret, modelType: 'languageModel' }),
  new LoadAPIKeyError({ message: secret }),
])('a request that the SDK rejects is a bug of ours, and the error contains nothing of the request: %#', (error) => {
  const failure = failureOf('acme', error, 0);
  expect(failure).toMatchObject({ passing: false, retryAfterMs: null });
  expect(failure.error).not.toBeInstanceOf(ProviderFailed);
  expect(failure.error).toBeInstanceOf(Error);
  expect(String(failure.error)).toContain(error.name);
  expect(JSON.stringify([String(failure.error), failure.error])).not.toContain(secret);
});

test('any other thrown value is a bug of ours, and is thrown unchanged', () => {
  for (const bug of [new TypeError('x is not a function'), new RangeError('too deep'), 'text', undefined])
    expect(failureOf('acme', bug, 0)).toEqual({ error: bug, passing: false, retryAfterMs: null });
});
