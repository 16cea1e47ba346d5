// Collects calls without a name from the stream of an endpoint with OpenAI's chat format. Some endpoints send the name
// later, so the SDK waits for it, and drops a call whose name never comes. But the model waits for an answer to this
// call too.
import type { LanguageModelV3ToolCall } from '@ai-sdk/provider';
import { isObject } from '@tollgate/proto/shape';

interface UnnamedCalls {
  /**
   * Adds a piece as the provider sent it. Returns the number of characters of this piece that are kept, plus `each` for
   * every call that begins with this piece.
   */
  add(raw: unknown, each: number): number;
  /** The calls whose name was still empty at the end. */
  calls(): readonly LanguageModelV3ToolCall[];
}

interface Draft {
  readonly id: string;
  text: string;
}

export function createUnnamedCalls(): UnnamedCalls {
  // Keyed by the call's index in the reply, or by its id. Null: the call has received its name.
  const drafts = new Map<unknown, Draft | null>();

  function keep({ id, index = id, function: called }: Delta, each: number): number {
    if (index === undefined || !isObject(called)) return 0;
    const { name, arguments: text } = called;
    const known = drafts.has(index);
    if (typeof name === 'string' && name.trim() !== '') drafts.set(index, null);
    else if (name === '' && !known) drafts.set(index, { id: textOf(id), text: '' });
    const begun = drafts.has(index) && !known ? each + JSON.stringify(index).length : 0;
    const draft = drafts.get(index) ?? null;
    if (draft === null) return begun;
    draft.text += textOf(text);
    return begun + textOf(text).length + draft.id.length;
  }

  return {
    add: (raw, each) => deltasOf(raw).reduce((sum, delta) => sum + keep(delta, each), 0),
    calls: () =>
      [...drafts.values()].flatMap((draft) =>
        draft === null ? [] : [{ type: 'tool-call', toolCallId: draft.id, toolName: '', input: draft.text }],
      ),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

type Delta = Readonly<Record<string, unknown>>;

function deltasOf(raw: unknown): readonly Delta[] {
  const choice: unknown = isObject(raw) && Array.isArray(raw['choices']) ? raw['choices'][0] : null;
  const delta = isObject(choice) ? choice['delta'] : null;
  return isObject(delta) && Array.isArray(delta['tool_calls']) ? delta['tool_calls'].filter(isObject) : [];
}
