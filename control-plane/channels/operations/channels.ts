// Lists, adds, changes and removes channels, replaces their secrets, and sends a message to try one.
import { AppError } from '@tollgate/proto/contract';
import { effectOperation, readOperation, type Write, writeOperation } from '../../access/operation.ts';
import { makeId } from '../../access/rules/key.ts';
import { badRequest, conflict, notFound } from '../../base/refusal.ts';
import { channelBounds, channelNameProblem, channelUrlProblem } from '../rules/channel.ts';
import { testBody } from '../rules/message.ts';
import {
  deleteChannel as deleteStored,
  findChannel,
  findTarget,
  insertChannel,
  listChannels as listStored,
  updateChannel,
  updateSecret,
} from '../store/channels.ts';
import { makeChannelSecret, openChannelSecrets, sealChannelSecret, unopenedWords } from './secrets.ts';
import type { ApprovalKeys } from '../../approvals/operations/secrets.ts';
import { sendMessage } from './send.ts';

export const listChannels = readOperation('approval-channel.read', async ({ pool }, { workspaceId }) => listStored(pool, workspaceId));

const noChannel = () => notFound('there is no such channel');
const targetOf = (name: string): string => `approval-channel/${name}`;

export interface ChannelInput {
  readonly name: string;
  readonly url: string;
  /** Undefined: an existing channel keeps what it is, and a new one is none. */
  readonly isDefault: boolean | undefined;
}

interface CheckedChannel extends ChannelInput {
  readonly keys: ApprovalKeys;
}

/** Adds a channel, or changes it. The secret of a new channel is in the answer, and only there. */
export const putChannel = effectOperation(
  'approval-channel.write',
  async (deps, actor, { name, url, isDefault }: ChannelInput, circumstances) => {
    const wrongName = channelNameProblem(name);
    if (wrongName !== null) throw badRequest(`the name of a channel ${wrongName}`);
    const wrongUrl = channelUrlProblem(url, deps.reach.allowPrivate);
    if (wrongUrl !== null) throw badRequest(`url ${wrongUrl}`);
    // The steps of approvals add jobs as soon as there is a channel.
    await deps.approvals.deliveries.start();
    const keys = await deps.approvals.keys();
    return storeChannel(deps, actor, { name, url: new URL(url).href, isDefault, keys }, circumstances);
  },
);

interface PutChannel {
  readonly name: string;
  /** Of a new channel. */
  readonly secret?: string;
}

const storeChannel = writeOperation<CheckedChannel, PutChannel>('approval-channel.write', async (write, { keys, ...asked }) => {
  const { client, workspaceId } = write;
  const before = await findChannel(client, workspaceId, asked.name);
  const channel = { ...asked, isDefault: asked.isDefault ?? before?.isDefault ?? false };
  const { host } = new URL(channel.url);
  if (before !== null) {
    await updateChannel(client, workspaceId, channel);
    return {
      result: { name: channel.name },
      target: targetOf(channel.name),
      detail: { change: 'change', host, default: channel.isDefault },
    };
  }
  await requireCapacity(write);
  const secret = makeChannelSecret(write.deps.random);
  await insertChannel(client, workspaceId, channel, sealChannelSecret(keys, workspaceId, channel.name, secret));
  return {
    result: { name: channel.name, secret },
    target: targetOf(channel.name),
    detail: { change: 'add', host, default: channel.isDefault },
  };
});

async function requireCapacity({ client, workspaceId }: Write): Promise<void> {
  if ((await listStored(client, workspaceId)).length >= channelBounds.inWorkspace)
    throw conflict(`a workspace has at most ${channelBounds.inWorkspace} channels`);
}

/** Removes a channel with its messages, also those that were not sent. */
export const removeChannel = writeOperation('approval-channel.write', async ({ client, workspaceId }, name: string) => {
  const unsent = channelNameProblem(name) === null ? await deleteStored(client, workspaceId, name) : null;
  if (unsent === null) throw noChannel();
  return { result: {}, target: targetOf(name), detail: { change: 'remove', unsent } };
});

export interface RotateInput {
  readonly name: string;
  /** How long the present secret signs too. */
  readonly keepSeconds: number;
}

/** Replaces the secret of a channel. The new one is in the answer, and only there. */
export const rotateChannel = effectOperation('approval-channel.write', async (deps, actor, input: RotateInput, circumstances) =>
  storeSecret(deps, actor, { ...input, keys: await deps.approvals.keys() }, circumstances),
);

const storeSecret = writeOperation(
  'approval-channel.write',
  async ({ client, deps, workspaceId }, { name, keepSeconds, keys }: RotateInput & { readonly keys: ApprovalKeys }) => {
    if (channelNameProblem(name) !== null || (await findChannel(client, workspaceId, name)) === null) throw noChannel();
    const secret = makeChannelSecret(deps.random);
    const sealed = sealChannelSecret(keys, workspaceId, name, secret);
    const oldSecretUntil = await updateSecret(client, workspaceId, name, { secret: sealed, keepSeconds });
    return { result: { name, secret, oldSecretUntil }, target: targetOf(name), detail: { change: 'rotate', keepSeconds } };
  },
);

/** Sends a message that only shows that the channel works, at once and once. Throws `upstream_failed` if it was not taken. */
export const testChannel = effectOperation('approval-channel.write', async (deps, actor, name: string, { signal = never }) => {
  const { workspaceId } = actor;
  const target = channelNameProblem(name) === null ? await findTarget(deps.pool, workspaceId, name) : null;
  if (target === null) throw noChannel();
  const secrets = await openChannelSecrets(deps.approvals.keys, workspaceId, name, target);
  if (secrets === null) throw conflict(unopenedWords);
  const id = `msg_${makeId(deps.random)}`;
  const body = testBody(target.workspace, name, target.now);
  const result = await sendMessage(deps.reach, { id, body, url: target.url, secrets, at: target.now }, signal);
  if (result.kind === 'failed')
    throw new AppError({ code: 'upstream_failed', publicMessage: `the channel took no message: ${result.problem}` });
  return { id };
});

const never = new AbortController().signal;
