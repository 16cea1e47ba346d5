// Makes, seals and opens the secrets of channels. They are sealed with a key that is derived from the secret of approvals.
import type { RandomBytes } from '../../access/rules/key.ts';
import type { ChannelTarget } from '../store/channels.ts';
import type { ApprovalKeys, ReadApprovalKeys } from '../../approvals/operations/secrets.ts';

const secretBytes = 32;

/** Returns a new secret as Standard Webhooks write it: `whsec_` and base64. */
export const makeChannelSecret = (random: RandomBytes): string => `whsec_${Buffer.from(random(secretBytes)).toString('base64')}`;

const placeOf = (workspaceId: number, name: string): string => `channel ${workspaceId} ${name}`;

export const sealChannelSecret = (keys: ApprovalKeys, workspaceId: number, name: string, secret: string): Uint8Array =>
  keys.sealAt(placeOf(workspaceId, name), secret);

/** Opens the secrets. Null: they were sealed with another secret of approvals. Throws if that secret cannot be decrypted. */
export async function openChannelSecrets(
  readKeys: ReadApprovalKeys,
  workspaceId: number,
  name: string,
  { secrets }: Pick<ChannelTarget, 'secrets'>,
): Promise<readonly string[] | null> {
  const keys = await readKeys();
  const opened = secrets.flatMap((secret) => keys.openAt(placeOf(workspaceId, name), secret) ?? []);
  return opened.length === 0 ? null : opened;
}

export const unopenedWords =
  'its secret cannot be decrypted, because the secret of approvals was replaced; give the channel a new secret (rotate)';
