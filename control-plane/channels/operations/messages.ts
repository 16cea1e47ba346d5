// Lists messages about approvals, and sends one again: also one that has failed for good.
import { readOperation, writeOperation } from '../../access/operation.ts';
import { conflict, notFound } from '../../base/refusal.ts';
import { lockMessage, listMessages as listStored, type MessagePlace, type MessageState, restartMessage } from '../store/messages.ts';

export type { MessagePlace, ShownMessage } from '../store/messages.ts';

export interface MessagesInput {
  readonly state: MessageState | undefined;
  readonly channel: string | undefined;
  readonly limit: number;
  readonly before: MessagePlace | null;
}

export const retryMessage = writeOperation('approval-channel.write', async ({ client, workspaceId }, id: string) => {
  const ref = { workspaceId, id };
  const message = idForm.test(id) ? await lockMessage(client, ref) : null;
  if (message === null) throw notFound('there is no such message');
  if ((await restartMessage(client, ref)) === null) throw conflict('the message is being sent at this moment');
  return { result: { id }, target: `approval-message/${id}`, detail: { change: 'retry', channel: message.channel, state: message.state } };
});

const idForm = /^msg_[0-9a-f]{32}$/;

export const listMessages = readOperation('approval-channel.read', async ({ readingPool }, { workspaceId }, input: MessagesInput) => {
  const found = await listStored(readingPool, workspaceId, { ...input, limit: input.limit + 1 });
  const messages = found.slice(0, input.limit);
  return { messages, next: found.length > messages.length ? (messages.at(-1)?.place ?? null) : null };
});
