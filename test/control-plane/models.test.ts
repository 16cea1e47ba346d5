import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCatalogue } from '../../control-plane/agents/rules/catalogue.ts';
import { parseModelEndpoints } from '../../control-plane/agents/rules/model-endpoints.ts';
import { demoModel, isRecognisedModel, listModels, priceOf } from '../../control-plane/agents/rules/models.ts';
import { createRest, type Rest } from './rest.ts';

const at = new Date('2026-06-25T12:00:00.000Z');

/** The names that were recognised before the price table existed; agents in production have these. */
const everRecognised: Readonly<Record<string, string>> = {
  anthropic:
    'claude-opus-4-5 claude-opus-4-1 claude-opus-4-0 claude-sonnet-4-5 claude-sonnet-4-0 claude-haiku-4-5 claude-3-7-sonnet-latest claude-3-5-haiku-latest',
  openai: 'gpt-5.1 gpt-5 gpt-5-mini gpt-5-nano gpt-4.1 gpt-4.1-mini gpt-4.1-nano gpt-4o gpt-4o-mini o3 o4-mini',
  google: 'gemini-3-pro-preview gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite',
  mistral: 'mistral-large-latest mistral-medium-latest mistral-small-latest',
  deepseek: 'deepseek-chat deepseek-reasoner',
};

describe('recognition', () => {
  test.each(Object.entries(everRecognised))(
    'every name of %s that was recognised in the past stays so, alone and with its provider',
    (provider, names) => {
      for (const name of names.split(' ')) {
        expect({ name, price: priceOf(name, at) }).toEqual({ name, price: priceOf(`${provider}/${name}`, at) });
        expect({ name, recognised: isRecognisedModel(name) }).toEqual({ name, recognised: true });
      }
    },
  );

  test('every model is recognised by its id and by each of its aliases', () => {
    for (const { id, provider, aliases } of listModels(at))
      for (const name of [id, ...aliases, ...aliases.map((alias) => `${provider}/${alias}`)])
        expect({ name, price: priceOf(name, at) }).toEqual({ name, price: priceOf(id, at) });
  });

  test('no alias means two models', () => {
    const aliases = listModels(at).flatMap((model) => model.aliases);
    expect(new Set(aliases).size).toBe(aliases.length);
  });

  test.each([
    'claude-haiku-4-5-20251001',
    'anthropic/claude-haiku-4-5-20251001',
    'claude-sonnet-4-5-20250929',
    'claude-3-5-haiku-20241022',
  ])('the release %s is recognised', (name) => expect(isRecognisedModel(name)).toBe(true));

  test.each([
    'echo',
    '',
    'constructor',
    '__proto__',
    'GPT-5',
    'openai/claude-sonnet-4-5',
    'google/claude-sonnet-4-5',
    'openai/claude-haiku-4-5-20251001',
    'absent/gpt-5',
    'gpt-5-20251231',
    'claude-haiku-4-5-whatever',
    'text-embedding-3-large',
    'gpt-image-1',
    'demo/echo-20250101',
    '/gpt-5',
    'a/b/claude-haiku-4-5-20251001',
  ])('%j is not', (name) => expect(isRecognisedModel(name)).toBe(false));
});

describe('prices', () => {
  test('the demo model is free', () => {
    expect(priceOf(demoModel, at)).toEqual({ inputCentsPerMillionTokens: 0, outputCentsPerMillionTokens: 0 });
  });

  test('they are cents, without rounding errors of binary fractions', () => {
    expect(priceOf('claude-haiku-4-5', at)).toEqual({
      inputCentsPerMillionTokens: 100,
      outputCentsPerMillionTokens: 500,
      cachedInputCentsPerMillionTokens: 10,
      cacheWriteCentsPerMillionTokens: 125,
    });
    expect(priceOf('deepseek-chat', at)?.cachedInputCentsPerMillionTokens).toBe(7);
  });

  test('a changed price holds from its day on', () => {
    expect(priceOf('mistral-medium-latest', new Date('2026-06-15T23:59:59Z'))).toMatchObject({ inputCentsPerMillionTokens: 40 });
    expect(priceOf('mistral-medium-latest', new Date('2026-06-16T00:00:00Z'))).toMatchObject({ inputCentsPerMillionTokens: 150 });
  });

  test('a price that depends on the length of the input, or on the hour, has these conditions', () => {
    expect(priceOf('gemini-2.5-pro', at)).toMatchObject({ inputCentsPerMillionTokens: 125, tiered: true });
    expect(priceOf('deepseek-chat', at)).toMatchObject({ inputCentsPerMillionTokens: 27, tiered: true });
    expect(priceOf('deepseek-chat', new Date('2026-06-25T20:00:00Z'))).toMatchObject({ inputCentsPerMillionTokens: 13.5, tiered: true });
    expect(priceOf('claude-haiku-4-5', at)).not.toHaveProperty('tiered');
  });

  test('an unrecognised model has no price', () => expect(priceOf('nothing', at)).toBeNull());

  test('every model of the catalogue has a price at any time', () => {
    for (const day of ['2020-01-01', '2026-06-25', '2040-01-01'])
      expect(listModels(new Date(day)).map(({ id }) => id)).toEqual(listModels(at).map(({ id }) => id));
  });
});

describe('GET /api/v1/models', () => {
  let rest: Rest;
  beforeAll(async () => {
    rest = await createRest();
  });
  afterAll(() => rest.close());

  test('lists the catalogue sorted by id, with the prices of this moment', async () => {
    const { status, body } = await rest.ask('GET', '/api/v1/models');
    expect({ status, body }).toEqual({ status: 200, body: { ok: true, models: listModels(rest.clock.now) } });
    const ids = listModels(rest.clock.now).map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted());
    expect(body).toMatchObject({
      models: expect.arrayContaining([
        {
          id: 'demo/echo',
          provider: 'demo',
          name: 'echo',
          aliases: [],
          inputCentsPerMillionTokens: 0,
          outputCentsPerMillionTokens: 0,
        },
        expect.objectContaining({ id: 'anthropic/claude-haiku-4-5', provider: 'anthropic', contextWindow: 200_000 }),
      ]),
    });
  });

  test('any member may ask, with agents.read; without the scope it is 403, without a key 401', async () => {
    expect((await rest.ask('GET', '/api/v1/models', { key: await rest.keyOf('member', ['agents.read']) })).status).toBe(200);
    expect((await rest.ask('GET', '/api/v1/models', { key: await rest.keyOf('owner', ['policies.read']) })).status).toBe(403);
    expect((await rest.ask('GET', '/api/v1/models', { key: null })).status).toBe(401);
  });

  test('every model that it lists is accepted by PATCH of an agent', async () => {
    const id = await rest.createAgent();
    for (const model of ['anthropic/claude-haiku-4-5', 'claude-haiku-4-5', 'mistral-medium-latest'])
      expect((await rest.ask('PATCH', `/api/v1/agents/${id}`, { body: { model } })).status).toBe(200);
    expect((await rest.ask('PATCH', `/api/v1/agents/${id}`, { body: { model: 'claude-9' } })).status).toBe(400);
  });
});

test('a model of a configured endpoint is listed with its price, and accepted by PATCH of an agent', async () => {
  const prices = { inputCentsPerMillionTokens: 10, outputCentsPerMillionTokens: 40, contextWindow: 128_000 };
  const local = { provider: 'local', baseUrl: 'http://10.0.0.5:8000/v1', models: [{ name: 'meta/llama-4', ...prices }] };
  const rest = await createRest({ catalogue: createCatalogue(parseModelEndpoints(JSON.stringify([local]))) });
  try {
    const { body } = await rest.ask('GET', '/api/v1/models');
    expect(body).toMatchObject({
      models: expect.arrayContaining([{ id: 'local/meta/llama-4', provider: 'local', name: 'meta/llama-4', aliases: [], ...prices }]),
    });
    const id = await rest.createAgent();
    expect((await rest.ask('PATCH', `/api/v1/agents/${id}`, { body: { model: 'local/meta/llama-4' } })).status).toBe(200);
    expect((await rest.ask('PATCH', `/api/v1/agents/${id}`, { body: { model: 'local/other' } })).status).toBe(400);
  } finally {
    await rest.close();
  }
});
