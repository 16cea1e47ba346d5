// A shell command that asks about the same call again. It never contains a key, and nothing in it can end its quotes.
import type { Entry } from './answer.ts';

/** JSON of printable ASCII only: a terminal may act on other characters when they are pasted. */
const plainJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const inputLengthMax = 100_000;

/** Null: the input was not kept whole, so the call cannot be repeated. */
export function curlOf(entry: Entry, origin: string): string | null {
  if (entry.input === undefined || entry.inputCut === true) return null;
  const { chain } = entry;
  const body = {
    tool_name: entry.tool,
    tool_input: entry.input,
    session_id: entry.sessionId,
    ...(entry.agentName === '' ? {} : { agent_name: entry.agentName }),
    ...(chain === undefined ? {} : { agent_chain: chain }),
    agent_tier: entry.agentTier,
    client: entry.client,
  };
  const json = plainJson(body);
  if (json.length > inputLengthMax) return null;
  return [
    `curl -sS -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\`,
    `  ${quoted(`${origin}/govern/tool-use`)} \\`,
    `  -d ${quoted(json)}`,
  ].join('\n');
}
