// Asks a tool server for its tools again. A server that fails keeps the tools it had. Scopes that its definition asks for
// stay, also for tools that it has no more: they may come back. Where the workspace pins definitions, what changed is not
// admitted by having been seen; otherwise it is, so that a workspace that begins to pin holds to what was seen last.
import { isServerName } from '@tollgate/proto/contract';
import { conflict } from '../../domain/refusal.ts';
import { admissionOf } from '../../domain/tool-servers/admission.ts';
import type { DiscoveredTool } from '../../domain/tool-servers/tool-server.ts';
import { readDocument } from '../../store/policies.ts';
import { findSealedToolServer, updateTools } from '../../store/tool-servers.ts';
import { effectOperation, writeOperation } from '../operation.ts';
import { refuseMissing } from './read-tool-servers.ts';
import { openSecrets } from './tool-server-secrets.ts';

interface Found {
  readonly name: string;
  /** That of the definition which was asked. */
  readonly asked: number;
  readonly tools: readonly DiscoveredTool[];
}

export const refreshToolServer = effectOperation('tool-server.write', async (deps, actor, name: string, circumstances) => {
  const { workspaceId } = actor;
  const stored = isServerName(name) ? await findSealedToolServer(deps.pool, workspaceId, name) : null;
  const { server, sealed } = stored ?? refuseMissing();
  const secrets = openSecrets(deps, { workspaceId, name, target: server.target }, sealed);
  const tools = await deps.discover({ name, target: server.target, secrets });
  return storeTools(deps, actor, { name, asked: server.revision, tools }, circumstances);
});

const storeTools = writeOperation('tool-server.write', async ({ client, workspaceId, now, revision }, { name, asked, tools }: Found) => {
  const before = (await findSealedToolServer(client, workspaceId, name))?.server ?? refuseMissing();
  if (before.revision !== asked) throw conflict('the tool server was changed while it was asked; try again');
  const policy = await readDocument(client, workspaceId, { layer: 'workspace' });
  const admitted = policy?.toolDefinitions === 'pinned' ? before.admitted : admissionOf(tools);
  const found = { tools, admitted, revision, discoveredAt: now };
  await updateTools(client, workspaceId, name, found);
  return { result: { server: { ...before, ...found } }, target: `tool-server/${name}`, detail: { change: 'refresh', tools: tools.length } };
});
