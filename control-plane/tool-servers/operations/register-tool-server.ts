// Registers a tool server. First, it makes all checks that do not need the server. Then it asks the server for its
// tools, with no transaction open. A server that does not answer is not stored.

import { accepted, conflict, refuseIfAny } from '../../base/refusal.ts';
import { type DiscoveredTool, type ToolServerDefinition, toolServerBounds, undiscovered } from '../rules/tool-server.ts';
import { admissionOf, hintsOf } from '../rules/admission.ts';
import { checkToolServer } from '../rules/tool-server-definition.ts';
import { countToolServers, hasToolServer, insertToolServer } from '../store/tool-servers.ts';
import type { Queryable } from '../../database/transaction.ts';
import { effectOperation, writeOperation } from '../../access/operation.ts';
import { sealSecrets } from './tool-server-secrets.ts';

interface DiscoveredServer {
  readonly definition: ToolServerDefinition;
  readonly tools: readonly DiscoveredTool[];
  readonly sealed: Uint8Array | null;
}

export const registerToolServer = effectOperation('tool-server.write', async (deps, actor, body: unknown, circumstances) => {
  const definition = accepted(checkToolServer(body, deps.reach));
  const { name, target, secrets } = definition;
  const sealed = sealSecrets(deps, { workspaceId: actor.workspaceId, name, target }, secrets);
  await requireCapacity(deps.pool, actor.workspaceId, name);
  const tools = await deps.discover(definition);
  refuseIfAny(undiscovered(definition, tools));
  return storeToolServer(deps, actor, { definition, tools, sealed }, circumstances);
});

const storeToolServer = writeOperation('tool-server.write', async (write, { definition, tools, sealed }: DiscoveredServer) => {
  const { client, workspaceId, now, revision } = write;
  const { name, target, scopes } = definition;
  await requireCapacity(client, workspaceId, name);
  const admitted = admissionOf(tools);
  const hints = hintsOf(admitted, tools, []);
  const server = { name, target, scopes, admitted, hints, tools, revision, discoveredAt: now, createdAt: now };
  await insertToolServer(client, workspaceId, server, sealed);
  return { result: { server }, target: `tool-server/${name}`, detail: { change: 'register', tools: tools.length } };
});

async function requireCapacity(db: Queryable, workspaceId: number, name: string): Promise<void> {
  if (await hasToolServer(db, workspaceId, name)) throw conflict('a tool server with this name already exists');
  if ((await countToolServers(db, workspaceId)) >= toolServerBounds.serversInWorkspace)
    throw conflict(`a workspace has at most ${toolServerBounds.serversInWorkspace} tool servers`);
}
