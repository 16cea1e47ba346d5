// Asking tool servers, so many at once in this process: each takes a connection, or starts a program, and the memory for
// what it answers.
import { AppError } from '@tollgate/proto/contract';
import { type Discover, type Discovery, discoverTools } from '../../runs/mcp/discover.ts';
import type { Reach } from '../../runs/mcp/reach.ts';
import { inTurns } from '../turns.ts';

const atOnce = 8;
const waitingMax = 16;

export const createDiscover = (reach: Reach): Discover =>
  inTurns(atOnce, (discovery: Discovery) => discoverTools(discovery, reach), { waitingMax, full });

const full = (): AppError =>
  new AppError({
    code: 'rate_limited',
    publicMessage: `this control plane is asking ${atOnce} tool servers, and ${waitingMax} more wait for their turn; try again`,
    retryAfterSeconds: 10,
  });
