import { calcPrice } from '@pydantic/genai-prices';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { listModels } from '../../control-plane/agents/rules/models.ts';
import { dearestRatesOf, type Rate, type Rates, ratesFromPrice, ratesOf } from '../../control-plane/agents/rules/rates.ts';
import { costOf, mostItCanCost, outputTokensFor } from '../../control-plane/runs/rules/cost.ts';
import { microcentsFromCents } from '../../control-plane/runs/rules/money.ts';

const at = new Date('2026-06-25T12:00:00.000Z');
const required = (rates: Rates | null): Rates => {
  if (rates === null) throw new Error('the model is not recognised');
  return rates;
};
const haiku = required(ratesOf('anthropic/claude-haiku-4-5', at));

const decimals = fc.integer({ min: 0, max: 10_000_000_000 }).map((n) => n / 1e6);
const rate: fc.Arbitrary<Rate> = fc.record({
  base: decimals,
  tiers: fc
    .array(fc.record({ above: fc.integer({ min: 0, max: 300_000 }), rate: decimals }), { maxLength: 3 })
    .map((tiers) => tiers.toSorted((a, b) => a.above - b.above)),
});
const anyRates: fc.Arbitrary<Rates> = fc.record({ input: rate, cachedInput: rate, cacheWrite: rate, output: rate });
const bytes = fc.integer({ min: 0, max: 2_000_000 });

describe('the reserved amount', () => {
  test('covers every call that the request can become', () => {
    fc.assert(
      fc.property(
        anyRates,
        bytes,
        fc.nat(200_000),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 4, maxLength: 4 }),
        (...drawn) => {
          const [rates, inputBytes, maxOutputTokens, [input = 0, cached = 0, written = 0, output = 0]] = drawn;
          const inputTokens = Math.floor(inputBytes * input);
          const cachedInputTokens = Math.floor(inputTokens * cached);
          const cacheWriteTokens = Math.floor((inputTokens - cachedInputTokens) * written);
          const tokens = { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens: Math.floor(maxOutputTokens * output) };
          expect(costOf(tokens, rates)).toBeLessThanOrEqual(mostItCanCost({ inputBytes, rates }, maxOutputTokens));
        },
      ),
    );
  });

  test('buys exactly as much output as it can pay for', () => {
    fc.assert(
      fc.property(anyRates, bytes, fc.nat(1_000_000_000_000), fc.integer({ min: 1, max: 200_000 }), (rates, inputBytes, amount, wanted) => {
        const request = { inputBytes, rates };
        const tokens = outputTokensFor(amount, request, wanted);
        expect(tokens).toBeGreaterThanOrEqual(0);
        expect(tokens).toBeLessThanOrEqual(wanted);
        if (tokens > 0) expect(mostItCanCost(request, tokens)).toBeLessThanOrEqual(amount);
        if (tokens < wanted) expect(mostItCanCost(request, tokens + 1)).toBeGreaterThan(amount);
      }),
    );
  });

  test('is the cost of the bytes, and of what providers add to them, at the highest rate of input', () => {
    expect(mostItCanCost({ inputBytes: 9_000, rates: haiku }, 256)).toBe(10_000 * haiku.cacheWrite.base + 256 * haiku.output.base);
  });

  test('is nothing for a free model, whatever the amount', () => {
    const request = { inputBytes: 1_000_000, rates: required(ratesOf('demo/echo', at)) };
    expect(mostItCanCost(request, 100_000)).toBe(0);
    expect(outputTokensFor(0, request, 4096)).toBe(4096);
  });
});

describe('the settled amount', () => {
  const nothing = { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };

  test('is what the price data states, for every model and in every tier', () => {
    const shapes = [
      { inputTokens: 1_000, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 77 },
      { inputTokens: 150_001, cachedInputTokens: 50_000, cacheWriteTokens: 30_001, outputTokens: 1_003 },
      { inputTokens: 900_000, cachedInputTokens: 400_000, cacheWriteTokens: 0, outputTokens: 20_000 },
    ];
    const models = listModels(at).filter(({ provider }) => provider !== 'demo');
    expect(models.length).toBeGreaterThan(50);
    const dataId = (provider: string): string => (provider === 'xai' ? 'x-ai' : provider);
    let compared = 0;
    for (const { id, provider, name } of models)
      for (const tokens of shapes) {
        const usage = {
          input_tokens: tokens.inputTokens,
          cache_read_tokens: tokens.cachedInputTokens,
          cache_write_tokens: tokens.cacheWriteTokens,
          output_tokens: tokens.outputTokens,
        };
        const said = calcPrice(usage, name, { providerId: dataId(provider), timestamp: at });
        const wanted = microcentsFromCents((said?.total_price ?? Number.NaN) * 100);
        const cost = costOf(tokens, required(ratesOf(id, at)));
        expect({ id, tokens, within: Math.abs(cost - wanted) <= 1, cost, wanted }).toMatchObject({ within: true });
        compared += 1;
      }
    expect(compared).toBeGreaterThan(150);
  });

  test('is rounded up to a whole µ¢, once', () => {
    const rates = ratesFromPrice({ inputCentsPerMillionTokens: 0.000001, outputCentsPerMillionTokens: 0.1 });
    expect(costOf({ ...nothing, inputTokens: 1 }, rates)).toBe(1);
    expect(costOf({ ...nothing, inputTokens: 1, outputTokens: 10 }, rates)).toBe(2);
    expect(costOf({ ...nothing, outputTokens: 10 }, rates)).toBe(1);
    expect(costOf(nothing, rates)).toBe(0);
  });

  test('counts no token of the input twice, whatever a provider reports about its cache', () => {
    const rates = ratesFromPrice({ inputCentsPerMillionTokens: 1, outputCentsPerMillionTokens: 1 });
    expect(costOf({ inputTokens: 10, cachedInputTokens: 99, cacheWriteTokens: 99, outputTokens: 0 }, rates)).toBe(10);
  });
});

test('the highest rates are those of the most expensive hour of a day, where the hour matters', () => {
  const hourly = listModels(at).flatMap(({ id }) => {
    const halfHours = Array.from({ length: 48 }, (_, n) => ratesOf(id, new Date(at.getTime() + n * 1_800_000))?.output.base ?? 0);
    return new Set(halfHours).size > 1 ? [{ id, highest: Math.max(...halfHours) }] : [];
  });
  expect(hourly.length).toBeGreaterThan(0);
  for (const { id, highest } of hourly) {
    const tokens = { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 1_000_000 };
    for (const hour of [0, 6, 12, 18])
      expect(costOf(tokens, required(dearestRatesOf(id, new Date(at.getTime() + hour * 3_600_000))))).toBe(Math.round(highest * 1e6));
  }
});

test('a name that is not a model has no known rates', () => {
  expect(ratesOf('absent/nothing', at)).toBeNull();
  expect(dearestRatesOf('absent/nothing', at)).toBeNull();
});
