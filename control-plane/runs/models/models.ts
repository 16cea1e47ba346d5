// Combines the models of all configured providers in one interface. The catalogue maps a model name to its provider.
import type { ModelCatalogue } from '../../agents/rules/catalogue.ts';
import { type ModelEvent, type ModelRequest, type Models, ProviderFailed } from '../model.ts';

/** A provider of models. In its methods, `name` is the name that the provider uses for the model. */
export interface Provider {
  /** Returns the maximum length of a reply of the model, in tokens. */
  outputLimit(name: string): number;
  /** Streams one reply. */
  reply(name: string, request: ModelRequest): AsyncIterable<ModelEvent>;
}

export function createModels(catalogue: Pick<ModelCatalogue, 'find'>, providers: ReadonlyMap<string, Provider>): Models {
  function problem(model: string): string | null {
    const served = catalogue.find(model);
    if (served === null) return `the model ${model} is not recognized`;
    return providers.has(served.provider) ? null : `the model ${model} needs the provider ${served.provider}, which is not configured here`;
  }

  function of(model: string): { readonly name: string; readonly provider: Provider } {
    const served = catalogue.find(model);
    const provider = served === null ? undefined : providers.get(served.provider);
    if (served === null || provider === undefined) throw new ProviderFailed(problem(model) ?? 'the model is no longer available', null);
    return { name: served.name, provider };
  }

  async function* reply(request: ModelRequest): AsyncGenerator<ModelEvent> {
    request.signal.throwIfAborted();
    const { name, provider } = of(request.model);
    yield* provider.reply(name, request);
  }

  return {
    problem,
    outputLimit: (model) => {
      const { name, provider } = of(model);
      return provider.outputLimit(name);
    },
    reply,
  };
}
