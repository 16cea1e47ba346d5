// Governs a structured tool of LangChain.js. `invoke`, `call`, `stream` and the rest of a tool's methods check the
// arguments, report to LangChain's callbacks, and then call `_call`, where the work is done. So `_call` is governed, and
// `func`, which `_call` of most tools calls. A subclass that replaces `invoke` may do its work elsewhere, and is refused.
import { type Permit, ToolDenied } from '../../engine/govern/verdict.ts';
import { copyWith, type Method } from './copy-with.ts';
import { begun, type Guard, settled, type Tell, tellOf, tellThrown, waiting } from './guarded.ts';

interface StructuredTool {
  readonly name: string;
  readonly _call: Method;
}

export const isStructuredTool = (tool: object): tool is StructuredTool =>
  'name' in tool &&
  typeof tool.name === 'string' &&
  '_call' in tool &&
  typeof tool._call === 'function' &&
  'lc_namespace' in tool &&
  ownerOf(tool, 'invoke') !== null &&
  // LangChain's own class defines both.
  ownerOf(tool, 'invoke') === ownerOf(tool, 'lc_namespace');

function ownerOf(value: object, name: string): object | null {
  for (let at: unknown = value; typeof at === 'object' && at !== null; at = Object.getPrototypeOf(at))
    if (Object.hasOwn(at, name)) return at;
  return null;
}

/** `tells`: a denial is the result, as a text for the model. False: it is thrown. */
export function guardStructuredTool(guard: Guard, name: string, tool: StructuredTool, tells: boolean): object {
  const func: unknown = 'func' in tool ? tool.func : undefined;
  // A result with an artifact is a pair.
  const isPair = 'responseFormat' in tool && tool.responseFormat === 'content_and_artifact';
  const told = (error: unknown): unknown => {
    if (!tells || !(error instanceof ToolDenied)) throw error;
    return isPair ? [error.message, undefined] : error.message;
  };
  const governed = (method: Method): Method =>
    async function call(input, ...rest) {
      try {
        const verdict = await guard.decide({ tool: name, input }, waiting(signalIn(rest[1])));
        if (!verdict.allowed) throw new ToolDenied(verdict);
        return await answerOf(
          verdict,
          begun((permitted) => method.call(this, permitted, ...rest), verdict.input),
          { guard, told },
        );
      } catch (error) {
        return told(error);
      }
    };
  return copyWith(tool, { _call: governed(tool._call), ...(typeof func === 'function' ? { func: governed(func as Method) } : {}) });
}

const signalIn = (config: unknown): unknown =>
  typeof config === 'object' && config !== null && 'signal' in config ? config.signal : undefined;

interface Answering {
  readonly guard: Guard;
  /** Returns the result for a denial, or throws the error. */
  readonly told: (error: unknown) => unknown;
}

async function answerOf(permit: Permit, answering: unknown, { guard, told }: Answering): Promise<unknown> {
  const tell = tellOf(guard, permit);
  let answer: unknown;
  try {
    answer = await answering;
  } catch (thrown) {
    // LangGraph ends or interrupts its graph by such an exception. It is not an answer for the model.
    if (isBubbleUp(thrown)) {
      await tell(null, false);
      throw thrown;
    }
    throw await tellThrown(permit, thrown, tell);
  }
  if (isGenerator(answer)) return streamed(permit, answer, { tell, told });
  if (!isToolMessage(answer)) return settled(permit, answer, tell);
  const { content, artifact } = answer;
  const shown = { content, ...(artifact === undefined ? {} : { artifact }) };
  const delivered = await tell(shown, answer.status === 'error');
  return delivered === shown ? answer : messageWith(answer, delivered);
}

const isBubbleUp = (thrown: unknown): boolean =>
  typeof thrown === 'object' && thrown !== null && 'is_bubble_up' in thrown && thrown.is_bubble_up === true;

/** A result that LangChain passes to the model as it is. */
interface ToolMessage {
  readonly content: unknown;
  readonly artifact?: unknown;
  readonly status?: unknown;
  readonly lc_kwargs: object;
}

const isToolMessage = (value: unknown): value is ToolMessage =>
  typeof value === 'object' && value !== null && 'lc_direct_tool_output' in value && 'tool_call_id' in value && 'lc_kwargs' in value;

/** A new message, because a message keeps its first content for its JSON too. */
const messageWith = (message: ToolMessage, shown: unknown): unknown =>
  Reflect.construct(message.constructor, [{ ...message.lc_kwargs, ...(shown as object) }]);

const isGenerator = (value: unknown): value is AsyncGenerator<unknown, unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value && 'next' in value && 'return' in value && 'throw' in value;

/**
 * Governs a tool that reports its progress: what it yields is progress, and what it returns is the output. If the policy
 * redacts, no progress is reported, because it may end in the middle of a secret.
 */
async function* streamed(
  permit: Permit,
  source: AsyncGenerator<unknown, unknown>,
  { tell, told }: { readonly tell: Tell; readonly told: Answering['told'] },
): AsyncGenerator<unknown, unknown> {
  const redacts = permit.decision.transform === 'redact';
  let isTold = false;
  const tellOnce: Tell = (output, isError) => {
    isTold = true;
    return tell(output, isError);
  };
  try {
    for (;;) {
      const step = await source.next();
      if (step.done === true) return await tellOnce(step.value, false);
      if (!redacts) yield step.value;
    }
  } catch (error) {
    return told(isTold ? error : await tellThrown(permit, error, tellOnce));
  } finally {
    if (!isTold) {
      await source.return(undefined);
      await tellOnce(null, true);
    }
  }
}
