// A request on the line of a program. Ids and progress tokens of clients would meet there, or be used again while an answer to
// the first use is still to come, so each request has a number of ours in their place.
import { canonicalJson } from '@tollgate/proto/contract';
import { memberAt, withMember } from '../wire/json-text.ts';
import { type ClientRequest, isFields } from '../wire/message.ts';
import type { ServerMessage } from '../wire/server-message.ts';
import type { Mailbox } from './mailbox.ts';

export interface Place {
  readonly box: Mailbox;
  /** What the client calls them, as JSON. */
  readonly id: string;
  readonly progressToken: string | null;
}

const subscription = ['params', '_meta', 'io.modelcontextprotocol/subscriptionId'];
const progress = ['params', 'progressToken'];

export function placeOf({ id, params }: ClientRequest, box: Mailbox): Place {
  const meta = params['_meta'];
  const token = isFields(meta) ? meta['progressToken'] : undefined;
  return { box, id: JSON.stringify(id), progressToken: token === undefined ? null : canonicalJson(token) };
}

export function inOurWords(body: string, number: number, { progressToken }: Place): string {
  const numbered = withMember(body, ['id'], String(number));
  return progressToken === null ? numbered : withMember(numbered, ['params', '_meta', 'progressToken'], String(number));
}

export function inClientsWords(message: ServerMessage, { id, progressToken }: Place): string {
  if (message.kind === 'response') return withMember(message.text, ['id'], id);
  const text = memberAt(message.text, subscription) === null ? message.text : withMember(message.text, subscription, id);
  return progressToken === null || memberAt(text, progress) === null ? text : withMember(text, progress, progressToken);
}

/** Which request a message belongs to; null: none that it names. */
export function numberOf(message: ServerMessage): number | null {
  if (message.kind === 'response') return typeof message.id === 'number' ? message.id : null;
  const { params } = message;
  if (!isFields(params)) return null;
  const meta = params['_meta'];
  const subscribed = isFields(meta) ? meta['io.modelcontextprotocol/subscriptionId'] : undefined;
  const named = subscribed ?? (message.method === 'notifications/progress' ? params['progressToken'] : undefined);
  return typeof named === 'number' ? named : null;
}
