// Gives each client's request a number of ours, for the channel of a program. On this channel, the ids and progress
// tokens of different clients could collide. A client could also reuse an id while the answer to its first use is still
// pending.
import { canonicalJson } from '@tollgate/proto/contract';
import { memberAt, withMember } from '../wire/json-text.ts';
import { type ClientRequest, isFields } from '../wire/message.ts';
import type { ServerMessage } from '../wire/server-message.ts';
import type { Mailbox } from './mailbox.ts';

export interface Place {
  readonly box: Mailbox;
  /** The client's id and progress token, as JSON. */
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

/** Returns the number of the request that a message belongs to. Null: the message names no request. */
export function numberOf(message: ServerMessage): number | null {
  if (message.kind === 'response') return typeof message.id === 'number' ? message.id : null;
  const { params } = message;
  if (!isFields(params)) return null;
  const meta = params['_meta'];
  const subscribed = isFields(meta) ? meta['io.modelcontextprotocol/subscriptionId'] : undefined;
  const named = subscribed ?? (message.method === 'notifications/progress' ? params['progressToken'] : undefined);
  return typeof named === 'number' ? named : null;
}
