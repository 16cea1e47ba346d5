// Follows the audit log.
import type { Client } from './client.ts';
import { type Followed, followEvents, type Following } from './follow.ts';
import type { World } from '../world.ts';

export const tailEntries = (
  world: Pick<World, 'wait' | 'random'>,
  client: Client,
  following: Pick<Following, 'filters' | 'from' | 'signal' | 'note'>,
): AsyncGenerator<Followed> => followEvents(world, client, { ...following, path: '/{workspace}/admin/audit/stream', event: 'entry' });
