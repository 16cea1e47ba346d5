import type { FastifyInstance } from 'fastify';
import { listModels } from '../operations/list-models.ts';
import type { AppDeps } from '../../http/deps.ts';
import { addRoute, ok } from '../../http/route.ts';
import { integer, listOf, object, okAnd, text, texts } from '../../http/shapes.ts';

const cents = { type: 'number', minimum: 0 };

const model = object(
  {
    id: { ...text, description: '`provider/name`' },
    provider: text,
    name: text,
    aliases: { ...texts, description: 'names that mean it too, alone or with the provider in front' },
    inputCentsPerMillionTokens: cents,
    outputCentsPerMillionTokens: cents,
  },
  {
    cachedInputCentsPerMillionTokens: { ...cents, description: 'input read from a cache; absent: as other input' },
    cacheWriteCentsPerMillionTokens: { ...cents, description: 'input written to a cache; absent: as other input' },
    contextWindow: { ...integer, description: 'tokens' },
    tiered: { const: true, description: 'the lowest tier, at this moment: long inputs cost more, or other hours another price' },
    deprecated: { const: true },
  },
);

export function addModelRoutes(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: '/api/v1/models',
    id: 'listModels',
    tag: 'Tools',
    summary: 'Lists the models that agents may run on, with their prices',
    answers: okAnd({ models: listOf(model) }),
    operation: listModels,
    schema: {},
    input: () => undefined,
    answer: (models) => ok({ models }),
  });
}
