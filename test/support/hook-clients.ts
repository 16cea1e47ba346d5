// What clients of the hook protocol in the field send, written down from their published sources: which fields, which headers,
// and what they leave out.
import { readFileSync } from 'node:fs';

export interface HookClient {
  readonly client: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly before: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
  /** Of the entry about its call. */
  readonly recorded: Readonly<Record<string, unknown>>;
}

export const hookClients = JSON.parse(
  readFileSync(new URL('../cases/hook-clients/requests.json', import.meta.url), 'utf8'),
) as readonly HookClient[];
