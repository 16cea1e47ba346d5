// Governs the `invoke` of a function tool of the OpenAI Agents SDK. The model's arguments arrive as JSON text. What is
// decided is their value, and the tool receives the JSON text of the permitted value.
import { ToolDenied } from '../../engine/govern/verdict.ts';
import type { Method } from './copy-with.ts';
import { type Guard, guarded } from './guarded.ts';

export interface FunctionTool {
  readonly type: 'function';
  readonly name: string;
  readonly invoke: Method;
}

export const isFunctionTool = (tool: object): tool is FunctionTool =>
  'type' in tool &&
  tool.type === 'function' &&
  'name' in tool &&
  typeof tool.name === 'string' &&
  'invoke' in tool &&
  typeof tool.invoke === 'function';

/** `tells`: a denial is the result, as a text for the model. False: it is thrown. */
export function governedInvoke(guard: Guard, tool: string, invoke: Method, tells: boolean): Method {
  return async function call(context, given, details, ...rest) {
    const read = argumentsIn(given);
    const work = (permitted: unknown): unknown => invoke.call(this, context, read.write(permitted), details, ...rest);
    const signal = typeof details === 'object' && details !== null && 'signal' in details ? details.signal : undefined;
    try {
      return await guarded(guard, { tool, input: read.input }, work, signal);
    } catch (error) {
      if (tells && error instanceof ToolDenied) return error.message;
      throw error;
    }
  };
}

interface Arguments {
  readonly input: unknown;
  write(permitted: unknown): unknown;
}

/** Text that is no JSON is the input itself. The tool decides what it does with it. */
function argumentsIn(given: unknown): Arguments {
  if (typeof given === 'string')
    try {
      return { input: JSON.parse(given) as unknown, write: (permitted) => JSON.stringify(permitted) };
    } catch {
      // The tool receives the text.
    }
  return { input: given, write: (permitted) => permitted };
}
