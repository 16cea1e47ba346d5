// Asks tool servers for their tools. The number of simultaneous discoveries in this process is limited: each one uses a
// connection or starts a program, and needs memory for the answer. The MCP client is loaded by the first discovery.
import { AppError } from '@tollgate/proto/contract';
import type { Discover, Discovery } from '../../runs/mcp/discover.ts';
import type { Reach } from '../../runs/mcp/reach.ts';
import { inTurns } from '../../base/turns.ts';

const atOnce = 8;
const waitingMax = 16;

export function createDiscover(reach: Reach): Discover {
  const discover = async (discovery: Discovery): ReturnType<Discover> => {
    const { discoverTools } = await import('../../runs/mcp/discover.ts');
    return discoverTools(discovery, reach);
  };
  return inTurns(atOnce, discover, { waitingMax, full });
}

const full = (): AppError =>
  new AppError({
    code: 'rate_limited',
    publicMessage: `this control plane already asks ${atOnce} tool servers for their tools, and ${waitingMax} more requests are waiting; try again`,
    retryAfterSeconds: 10,
  });
