// Stores channels. Their secrets are sealed by the caller.
import type { Queryable } from '../../database/transaction.ts';
import type { Channel } from '../rules/channel.ts';

interface ChannelRow {
  readonly name: string;
  readonly url: string;
  readonly is_default: boolean;
  readonly created_at: Date;
  readonly secret_at: Date;
  readonly old_secret_until: Date | null;
}

const columns = `name, url, is_default, created_at, secret_at,
  case when old_secret_until > clock_timestamp() then old_secret_until end as old_secret_until`;

const channelFromRow = (row: ChannelRow): Channel => ({
  name: row.name,
  url: row.url,
  isDefault: row.is_default,
  createdAt: row.created_at,
  secretAt: row.secret_at,
  oldSecretUntil: row.old_secret_until,
});

/** A channel, and how many of its messages have which state. */
export interface CountedChannel extends Channel {
  readonly waiting: number;
  readonly failed: number;
  readonly lastSentAt: Date | null;
}

/** Lists the channels by name. */
export async function listChannels(db: Queryable, workspaceId: number): Promise<readonly CountedChannel[]> {
  const { rows } = await db.query<ChannelRow & { waiting: number; failed: number; last_sent_at: Date | null }>(
    `select ${columns}, counted.* from approval_channel as channel, lateral (
       select count(*) filter (where state = 'waiting')::int as waiting, count(*) filter (where state = 'failed')::int as failed,
         max(ended_at) filter (where state = 'sent') as last_sent_at
       from approval_message where workspace_id = channel.workspace_id and approval_message.channel = channel.name
     ) as counted where channel.workspace_id = $1 order by name`,
    [workspaceId],
  );
  return rows.map((row) => ({ ...channelFromRow(row), waiting: row.waiting, failed: row.failed, lastSentAt: row.last_sent_at }));
}

export async function listChannelNames(db: Queryable, workspaceId: number): Promise<readonly string[]> {
  const { rows } = await db.query<{ name: string }>('select name from approval_channel where workspace_id = $1', [workspaceId]);
  return rows.map(({ name }) => name);
}

export async function findChannel(db: Queryable, workspaceId: number, name: string): Promise<Channel | null> {
  const { rows } = await db.query<ChannelRow>(`select ${columns} from approval_channel where workspace_id = $1 and name = $2`, [
    workspaceId,
    name,
  ]);
  return rows[0] === undefined ? null : channelFromRow(rows[0]);
}

/** Whether any workspace has a channel. */
export async function hasChannels(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ there: boolean }>('select exists (select 1 from approval_channel) as there');
  return rows[0]?.there === true;
}

export async function insertChannel(
  db: Queryable,
  workspaceId: number,
  { name, url, isDefault }: Pick<Channel, 'name' | 'url' | 'isDefault'>,
  secret: Uint8Array,
): Promise<void> {
  await db.query(
    `insert into approval_channel (workspace_id, name, url, is_default, secret, secret_at, created_at)
     values ($1, $2, $3, $4, $5, clock_timestamp(), clock_timestamp())`,
    [workspaceId, name, url, isDefault, secret],
  );
}

export async function updateChannel(
  db: Queryable,
  workspaceId: number,
  { name, url, isDefault }: Pick<Channel, 'name' | 'url' | 'isDefault'>,
): Promise<void> {
  await db.query('update approval_channel set url = $3, is_default = $4 where workspace_id = $1 and name = $2', [
    workspaceId,
    name,
    url,
    isDefault,
  ]);
}

/** Replaces the secret. The one before it signs too for `keepSeconds`. Returns until when, null: not at all. */
export async function updateSecret(
  db: Queryable,
  workspaceId: number,
  name: string,
  { secret, keepSeconds }: { readonly secret: Uint8Array; readonly keepSeconds: number },
): Promise<Date | null> {
  const { rows } = await db.query<{ old_secret_until: Date | null }>(
    `update approval_channel set secret = $3, secret_at = clock_timestamp(), old_secret = case when $4 > 0 then secret end,
       old_secret_until = case when $4 > 0 then date_trunc('milliseconds', clock_timestamp()) + make_interval(secs => $4) end
     where workspace_id = $1 and name = $2 returning old_secret_until`,
    [workspaceId, name, secret, keepSeconds],
  );
  return rows[0]?.old_secret_until ?? null;
}

/** Removes a channel with its messages. Returns how many of them were not sent; null: there is no such channel. */
export async function deleteChannel(db: Queryable, workspaceId: number, name: string): Promise<number | null> {
  const { rows } = await db.query<{ unsent: number }>(
    `with lost as (
       select count(*)::int as unsent from approval_message where workspace_id = $1 and channel = $2 and state <> 'sent'
     ), gone as (delete from approval_channel where workspace_id = $1 and name = $2 returning 1)
     select lost.unsent from lost, gone`,
    [workspaceId, name],
  );
  return rows[0]?.unsent ?? null;
}

/** The sealed secrets of a channel, and its address. */
export interface ChannelTarget {
  readonly url: string;
  /** The present secret, and the one before it if it signs too. */
  readonly secrets: readonly Uint8Array[];
  readonly workspace: string;
  /** The time of the database. */
  readonly now: Date;
}

export async function findTarget(db: Queryable, workspaceId: number, name: string): Promise<ChannelTarget | null> {
  const { rows } = await db.query<{ url: string; secret: Buffer; old: Buffer | null; slug: string; now: Date }>(
    `select url, secret, case when old_secret_until > clock_timestamp() then old_secret end as old, slug, clock_timestamp() as now
     from approval_channel join workspace on workspace.id = workspace_id where workspace_id = $1 and name = $2`,
    [workspaceId, name],
  );
  const [row] = rows;
  if (row === undefined) return null;
  return { url: row.url, secrets: row.old === null ? [row.secret] : [row.secret, row.old], workspace: row.slug, now: row.now };
}
