// Asks a tool server for its tools again. A server that fails keeps the tools it had. Scopes that its definition asks for
// stay, also for tools that it has no more: they may come back.
import { conflict } from '../../domain/refusal.ts';
import type { DiscoveredTool } from '../../domain/tool-servers/tool-server.ts';
import { discoverTools } from '../../runs/mcp/discover.ts';
import { findSealedToolServer, updateTools } from '../../store/tool-servers.ts';
import { readOperation, writeOperation } from '../operation.ts';
import { refuseMissing, requireToolServer } from './read-tool-servers.ts';
import { openSecrets } from './tool-server-secrets.ts';

interface Found {
  readonly name: string;
  /** That of the definition which was asked. */
  readonly asked: number;
  readonly tools: readonly DiscoveredTool[];
}

export const refreshToolServer = readOperation('tool-server.write', async (deps, actor, name: string, circumstances) => {
  const { workspaceId } = actor;
  const { server, sealed } = (await findSealedToolServer(deps.pool, workspaceId, name)) ?? refuseMissing();
  const secrets = openSecrets(deps, workspaceId, name, sealed);
  const tools = await discoverTools({ name, target: server.target, secrets }, deps.reach);
  return storeTools(deps, actor, { name, asked: server.revision, tools }, circumstances);
});

const storeTools = writeOperation('tool-server.write', async ({ client, workspaceId, now, revision }, { name, asked, tools }: Found) => {
  const before = await requireToolServer(client, workspaceId, name);
  if (before.revision !== asked) throw conflict('the tool server was changed while it was asked; try again');
  const found = { tools, revision, discoveredAt: now };
  await updateTools(client, workspaceId, name, found);
  return { result: { server: { ...before, ...found } }, target: `tool-server/${name}`, detail: { change: 'refresh', tools: tools.length } };
});
