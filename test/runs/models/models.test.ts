// Which models exist when the operator has endpoints, which provider serves them, and what they cost.

import { programVariables, readConfig } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import { configSchema, modelProblems } from '../../../control-plane/app/config.ts';
import { createCatalogue } from '../../../control-plane/agents/rules/catalogue.ts';
import { modelEndpointsProblem, parseModelEndpoints } from '../../../control-plane/agents/rules/model-endpoints.ts';
import { listModels } from '../../../control-plane/agents/rules/models.ts';
import { dearestRatesOf, ratesOf } from '../../../control-plane/agents/rules/rates.ts';
import { createModels, type Provider } from '../../../control-plane/runs/models/models.ts';
import { outputLimitOf } from '../../../control-plane/runs/models/output-limit.ts';
import { settingsFrom } from '../../../control-plane/runs/models/settings.ts';
import { hear, requestOf } from '../../support/model-requests.ts';

const at = new Date('2026-06-25T12:00:00.000Z');
const prices = { inputCentsPerMillionTokens: 10, outputCentsPerMillionTokens: 40 };
const local = { provider: 'local', baseUrl: 'http://10.0.0.5:8000/v1', models: [{ name: 'meta/llama-4', ...prices }] };
const mistral = { provider: 'mistral', baseUrl: 'https://api.mistral.ai/v1/', keyVariable: 'MISTRAL_API_KEY' };
const text = JSON.stringify([local, mistral]);

describe('TOLLGATE_MODEL_ENDPOINTS', () => {
  test('is a list of endpoints, each of which may have its own models', () => {
    expect(modelEndpointsProblem(text)).toBeNull();
    expect(parseModelEndpoints(text)).toEqual([
      { ...local, keyVariable: null, maxOutputTokens: null },
      { ...mistral, baseUrl: 'https://api.mistral.ai/v1', maxOutputTokens: null, models: [] },
    ]);
  });

  test.each([
    ['{', 'must be a JSON list'],
    ['{}', 'must be a JSON list'],
    ['[1]', '[0] must be an object'],
    [JSON.stringify([local, local]), 'names local twice'],
    [JSON.stringify([{ ...local, key: 'sk-1' }]), '[0] has an unknown field; the fields are provider'],
    [JSON.stringify([{ baseUrl: local.baseUrl }]), '[0].provider is required'],
    [JSON.stringify([{ ...local, provider: 'openai' }]), '[0].provider must not be one of the built-in providers anthropic, demo, openai'],
    [JSON.stringify([{ ...local, provider: 'a/b' }]), '[0].provider is malformed'],
    [JSON.stringify([{ ...local, keyVariable: 'LOCAL_KEY' }]), '[0].baseUrl must be a URL of https, or of http on loopback'],
    [JSON.stringify([{ ...local, baseUrl: 'https://u:p@host/v1' }]), '[0].baseUrl must be a URL of http or https'],
    [JSON.stringify([{ ...local, baseUrl: 'https://host/v1?key=1' }]), '[0].baseUrl must be a URL of http or https'],
    [JSON.stringify([{ ...mistral, keyVariable: 'TOLLGATE_KEY' }]), '[0].keyVariable is malformed'],
    [JSON.stringify([{ ...local, models: [{ name: 'x' }] }]), '[0].models[0].inputCentsPerMillionTokens is required'],
    [
      JSON.stringify([{ ...local, models: [{ name: 'x', ...prices, outputCentsPerMillionTokens: -1 }] }]),
      '[0].models[0].outputCentsPerMillionTokens is malformed',
    ],
    [JSON.stringify([{ ...local, models: [{ name: 'a b', ...prices }] }]), '[0].models[0].name is malformed'],
    ['[{"__proto__":{"provider":"x"}}]', '[0] has an unknown field; the fields are'],
  ])('%s is rejected, with its place', (wrong, problem) => {
    expect(modelEndpointsProblem(wrong)?.startsWith(problem)).toBe(true);
    expect(parseModelEndpoints(wrong)).toEqual([]);
  });

  test('their keys come from the variables that they name', () => {
    const config = { openaiApiKey: 'sk-o', openaiBaseUrl: null, anthropicApiKey: null, anthropicBaseUrl: null, modelEndpoints: text };
    const { openai, anthropic, endpoints } = settingsFrom(config, { MISTRAL_API_KEY: 'sk-m' });
    expect(openai).toEqual({ key: 'sk-o', baseUrl: 'https://api.openai.com/v1', api: 'responses' });
    expect(anthropic).toBeNull();
    expect(endpoints.map(({ provider, key }) => [provider, key])).toEqual([
      ['local', null],
      ['mistral', 'sk-m'],
    ]);
  });

  test.each([
    [{ TOLLGATE_MODEL_ENDPOINTS: text }, ['TOLLGATE_MODEL_ENDPOINTS needs MISTRAL_API_KEY, which is not set']],
    [{ TOLLGATE_MODEL_ENDPOINTS: text, MISTRAL_API_KEY: 'sk-m' }, []],
    [{ TOLLGATE_OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' }, ['TOLLGATE_OPENAI_BASE_URL needs TOLLGATE_OPENAI_API_KEY']],
    [{ TOLLGATE_ANTHROPIC_BASE_URL: 'https://proxy.test/v1' }, ['TOLLGATE_ANTHROPIC_BASE_URL needs TOLLGATE_ANTHROPIC_API_KEY']],
    [{ TOLLGATE_ANTHROPIC_BASE_URL: 'https://proxy.test/v1', TOLLGATE_ANTHROPIC_API_KEY: 'sk-a' }, []],
  ])('what %j lacks is reported at the start', (env, problems) => {
    const read = readConfig(configSchema, env, programVariables);
    expect('config' in read ? modelProblems(read.config, env) : read.problems).toEqual(problems);
  });

  test('a key is never sent unencrypted to any address', () => {
    const env = { TOLLGATE_ANTHROPIC_BASE_URL: 'http://proxy.test/v1', TOLLGATE_ANTHROPIC_API_KEY: 'sk-a' };
    const read = readConfig(configSchema, env, programVariables);
    expect('problems' in read && read.problems).toEqual([
      'TOLLGATE_ANTHROPIC_BASE_URL must be a URL of https, or of http on loopback, without user, password, query and fragment',
    ]);
  });

  test('OpenAI at another address is called through Chat Completions', () => {
    const config = {
      openaiApiKey: 'sk-o',
      openaiBaseUrl: 'http://127.0.0.1:1/v1',
      anthropicApiKey: null,
      anthropicBaseUrl: null,
      modelEndpoints: null,
    };
    expect(settingsFrom(config, {}).openai).toEqual({ key: 'sk-o', baseUrl: 'http://127.0.0.1:1/v1', api: 'chat' });
  });
});

describe('the catalogue', () => {
  const catalogue = createCatalogue(parseModelEndpoints(text));

  test('recognises the models of endpoints, by their full names only, in addition to all others', () => {
    expect(catalogue.recognises('local/meta/llama-4')).toBe(true);
    expect(catalogue.recognises('meta/llama-4')).toBe(false);
    expect(catalogue.recognises('local/other')).toBe(false);
    expect(catalogue.recognises('gpt-5')).toBe(true);
    expect(createCatalogue([]).recognises('local/meta/llama-4')).toBe(false);
  });

  test('lists them with their prices, sorted by id', () => {
    const ids = catalogue.list(at).map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted());
    expect(ids).toHaveLength(listModels(at).length + 1);
    expect(catalogue.list(at).find(({ id }) => id === 'local/meta/llama-4')).toEqual({
      id: 'local/meta/llama-4',
      provider: 'local',
      name: 'meta/llama-4',
      aliases: [],
      ...prices,
    });
  });

  test("knows what they cost: the endpoint's own price, and the price data for all others", () => {
    const flat = (base: number) => ({ base, tiers: [] });
    const rates = { input: flat(10), cachedInput: flat(10), cacheWrite: flat(10), output: flat(40) };
    expect(catalogue.ratesOf('local/meta/llama-4', at)).toEqual(rates);
    expect(catalogue.dearestRatesOf('local/meta/llama-4', at)).toEqual(rates);
    expect(catalogue.ratesOf('gpt-5', at)).toEqual(ratesOf('gpt-5', at));
    expect(catalogue.dearestRatesOf('deepseek-chat', at)).toEqual(dearestRatesOf('deepseek-chat', at));
    expect(catalogue.ratesOf('nothing', at)).toBeNull();
  });

  test('uses the price of an endpoint also for a model of the price data, by its full name', () => {
    const [known] = listModels(at).filter(({ provider }) => provider === 'mistral');
    if (known === undefined) throw new Error('the price data have nothing of mistral');
    const own = createCatalogue(parseModelEndpoints(JSON.stringify([{ ...mistral, models: [{ name: known.name, ...prices }] }])));
    expect(own.ratesOf(known.id, at)?.output.base).toBe(40);
    expect(own.list(at)).toHaveLength(listModels(at).length);
    expect(own.list(at)).toContainEqual({ id: known.id, provider: 'mistral', name: known.name, aliases: [], ...prices });
  });

  test.each([
    ['claude-haiku-4-5', 'anthropic', 'claude-haiku-4-5'],
    ['anthropic/claude-haiku-4-5', 'anthropic', 'claude-haiku-4-5'],
    ['anthropic/claude-haiku-4-5-20251001', 'anthropic', 'claude-haiku-4-5-20251001'],
    ['gpt-5-mini', 'openai', 'gpt-5-mini'],
    ['local/meta/llama-4', 'local', 'meta/llama-4'],
    ['demo/echo', 'demo', 'echo'],
  ])('%s is requested from %s as %s', (model, provider, name) => expect(catalogue.find(model)).toMatchObject({ provider, name }));
});

describe('models', () => {
  const asked: string[] = [];
  const provider: Provider = {
    outputLimit: (name) => name.length,
    async *reply(name) {
      asked.push(name);
      yield { kind: 'reply', text: name, toolCalls: [], usage: null, finish: 'stop' };
    },
  };
  const models = createModels(createCatalogue([]), new Map([['openai', provider]]));

  test('are served by the provider in their name, which receives the name that it knows', async () => {
    expect(models.problem('openai/gpt-5')).toBeNull();
    expect((await hear(models.reply(requestOf({ model: 'openai/gpt-5' })))).reply.text).toBe('gpt-5');
    expect(asked).toEqual(['gpt-5']);
    expect(models.outputLimit('openai/gpt-5')).toBe(5);
  });

  test('of providers that are not configured are rejected with an explanation, and never requested', async () => {
    expect(models.problem('claude-haiku-4-5')).toBe(
      'the model claude-haiku-4-5 needs the provider anthropic, which is not configured here',
    );
    expect(models.problem('nothing')).toBe('the model nothing is not recognized');
    await expect(hear(models.reply(requestOf({ model: 'claude-haiku-4-5' })))).rejects.toMatchObject({
      name: 'ProviderFailed',
      billed: false,
    });
  });

  test('are not requested after the signal is aborted', async () => {
    const reason = new Error('enough');
    const before = asked.length;
    await expect(hear(models.reply(requestOf({ model: 'gpt-5', signal: AbortSignal.abort(reason) })))).rejects.toBe(reason);
    expect(asked).toHaveLength(before);
  });
});

test.each([
  ['gpt-4', 4_096],
  ['gpt-4-turbo', 4_096],
  ['gpt-3.5-turbo', 4_096],
  ['gpt-4o', 16_384],
  ['gpt-4o-mini', 16_384],
  ['gpt-chat-latest', 16_384],
  ['gpt-5-chat-latest', 16_384],
  ['gpt-4.1-mini', 32_768],
  ['o3', 100_000],
  ['o4-mini', 100_000],
  ['gpt-5', 128_000],
  ['gpt-5.2-pro', 128_000],
  ['gpt-6-sol', 128_000],
  ['claude-3-haiku', 4_096],
  ['claude-opus-4-1', 32_000],
  ['claude-haiku-4-5-20251001', 64_000],
  ['claude-opus-5', 128_000],
  ['gpt-oss-20b', 8_192],
  ['llama-4', 8_192],
  ['echo', 8_192],
])('the longest reply of %s has %d tokens, or is unknown and has 8,192', (name, limit) => expect(outputLimitOf(name)).toBe(limit));
