import { type EventPosition, listEvents as listStored } from '../store/events.ts';
import { readOperation } from '../../access/operation.ts';

export type { AdminEvent, EventPosition } from '../store/events.ts';

interface EventQuery {
  readonly limit: number;
  /** The `next` of the previous page; null: the first page. */
  readonly before: EventPosition | null;
}

export const eventIdOf = ({ revision, position }: EventPosition): string => `${revision}.${position}`;

/** Lists admin events (actor and change), newest first. */
export const listEvents = readOperation('event.read', async ({ pool }, actor, { limit, before }: EventQuery) => {
  const found = await listStored(pool, actor.workspaceId, limit + 1, before);
  const events = found.slice(0, limit);
  const last = events.at(-1);
  return { events, ...(last !== undefined && found.length > limit ? { next: eventIdOf(last) } : {}) };
});
