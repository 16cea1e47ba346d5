// Parses the request body that starts a run. Unknown fields are ignored, as in a request that creates an agent.
import { keyedPath } from '@tollgate/proto/contract';
import { type Checked, isObject, type JsonSchema, problem, type Problem } from '@tollgate/proto/shape';

export interface RunAsk {
  readonly input: string;
  readonly context: Readonly<Record<string, string>>;
  readonly stream: boolean;
}

const contextMax = 1_000;

export const runAskSchema: JsonSchema = {
  type: 'object',
  required: ['input'],
  properties: {
    input: { type: 'string', minLength: 1, pattern: '\\S', description: 'the goal or instruction for the agent; more than blanks' },
    context: {
      type: 'object',
      maxProperties: contextMax,
      additionalProperties: { type: 'string' },
      description: 'names and values that stand in the system prompt, as data',
    },
    stream: { type: 'boolean', default: false, description: 'true: the events of the run as they happen, as Server-Sent Events' },
  },
};

export function parseRunAsk(body: unknown): Checked<RunAsk> {
  if (!isObject(body)) return { problems: problem('body', 'must be a JSON object') };
  const { input, context = {}, stream = false } = body;
  const problems = [...inputProblems(input), ...contextProblems(context), ...streamProblems(stream)];
  if (problems.length > 0 || typeof input !== 'string' || !isObject(context)) return { problems };
  const texts = Object.entries(context).map(([name, value]) => [name, String(value)] as const);
  return { value: { input, context: Object.fromEntries(texts), stream: stream === true } };
}

function inputProblems(input: unknown): readonly Problem[] {
  if (input === undefined) return problem('input', 'is required');
  if (typeof input !== 'string') return problem('input', 'must be a string');
  return input.trim() === '' ? problem('input', 'must not be blank') : [];
}

function contextProblems(context: unknown): readonly Problem[] {
  if (!isObject(context)) return problem('context', 'must be an object whose values are strings');
  const all = Object.entries(context);
  if (all.length > contextMax) return problem('context', `must have at most ${contextMax} keys, has ${all.length}`);
  return all.flatMap(([key, value]) => (typeof value === 'string' ? [] : problem(keyedPath('context', key), 'must be a string')));
}

const streamProblems = (stream: unknown): readonly Problem[] =>
  typeof stream === 'boolean' ? [] : problem('stream', 'must be true or false');
