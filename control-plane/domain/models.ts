// The models an agent may be given on the validated path. Data: a model is recognised by its own name or with its
// provider in front (`anthropic/claude-sonnet-4-5`).
interface Model {
  readonly provider: string;
  readonly name: string;
}

const of = (provider: string, ...names: readonly string[]): readonly Model[] => names.map((name) => ({ provider, name }));

export const models: readonly Model[] = [
  ...of(
    'anthropic',
    'claude-opus-4-5',
    'claude-opus-4-1',
    'claude-opus-4-0',
    'claude-sonnet-4-5',
    'claude-sonnet-4-0',
    'claude-haiku-4-5',
    'claude-3-7-sonnet-latest',
    'claude-3-5-haiku-latest',
  ),
  ...of(
    'openai',
    'gpt-5.1',
    'gpt-5',
    'gpt-5-mini',
    'gpt-5-nano',
    'gpt-4.1',
    'gpt-4.1-mini',
    'gpt-4.1-nano',
    'gpt-4o',
    'gpt-4o-mini',
    'o3',
    'o4-mini',
  ),
  ...of('google', 'gemini-3-pro-preview', 'gemini-2.5-pro', 'gemini-2.5-flash', 'gemini-2.5-flash-lite'),
  ...of('mistral', 'mistral-large-latest', 'mistral-medium-latest', 'mistral-small-latest'),
  ...of('deepseek', 'deepseek-chat', 'deepseek-reasoner'),
];

/** A deterministic model that needs no network; known by its full name only. */
export const demoModel = 'demo/echo';

const recognised = new Set([demoModel, ...models.flatMap(({ provider, name }) => [name, `${provider}/${name}`])]);

export const isRecognisedModel = (model: string): boolean => recognised.has(model);
