// A model with replies from the test, one for each request; it keeps the requests.
import type { Finish, ModelRequest, Models, RequestedCall, TokenUsage } from '../../control-plane/runs/model.ts';

export interface ScriptedReply {
  readonly text?: string;
  readonly calls?: readonly { readonly alias: string; readonly arguments: string }[];
  /** Null: the provider does not report it. */
  readonly usage?: TokenUsage | null;
  readonly finish?: Finish;
  /** Thrown after the text. */
  readonly fails?: Error;
  /** It sends nothing after the text, until it is aborted. */
  readonly hangs?: true;
}

type Script = readonly ScriptedReply[] | ((request: ModelRequest, at: number) => ScriptedReply);

export function createScriptedModel(script: Script): Models & { readonly requests: readonly ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    requests,
    problem: () => null,
    outputLimit: () => 8_192,
    async *reply(request) {
      const at = requests.push(request) - 1;
      request.signal.throwIfAborted();
      const said = typeof script === 'function' ? script(request, at) : script[at];
      if (said === undefined) throw new Error(`the script has no reply ${at}`);
      const { text = '', calls = [], usage = used, fails, hangs } = said;
      for (const delta of text.match(/\S+\s*|\s+/g) ?? []) yield { kind: 'text', delta };
      if (fails !== undefined) throw fails;
      if (hangs === true) await untilAborted(request.signal);
      const toolCalls = calls.map((call, n): RequestedCall => ({ callId: `call_${at + 1}_${n + 1}`, ...call }));
      yield { kind: 'reply', text, toolCalls, usage, finish: said.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop') };
    },
  };
}

const used: TokenUsage = { inputTokens: 10, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 5 };

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((aborted) => signal.addEventListener('abort', aborted, { once: true }));
  signal.throwIfAborted();
}
