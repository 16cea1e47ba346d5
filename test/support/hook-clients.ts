// Requests of real clients of the hook protocol, taken from their published sources: which fields and headers they
// send, and which they omit.
import { readFileSync } from 'node:fs';

export interface HookClient {
  readonly client: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly before: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
  /** Fields of the entry about its call. */
  readonly recorded: Readonly<Record<string, unknown>>;
}

export const hookClients = JSON.parse(
  readFileSync(new URL('../cases/hook-clients/requests.json', import.meta.url), 'utf8'),
) as readonly HookClient[];
