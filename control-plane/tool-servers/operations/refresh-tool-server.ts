// Asks a tool server for its tools again. If the server fails, the stored tools are kept. The scopes in the server's
// definition are kept too, also for tools that the server no longer has, because these tools can return. If the
// workspace pins definitions, a changed tool must be admitted explicitly. Otherwise all discovered tools are admitted.
// So if the workspace starts to pin later, the last discovered definitions are the admitted ones.
import { isServerName } from '@tollgate/proto/contract';
import { conflict } from '../../base/refusal.ts';
import { admissionOf, hintsOf } from '../rules/admission.ts';
import type { DiscoveredTool } from '../rules/tool-server.ts';
import { readDocument } from '../../policies/store/policies.ts';
import { findSealedToolServer, updateTools } from '../store/tool-servers.ts';
import { effectOperation, writeOperation } from '../../access/operation.ts';
import { refuseMissing } from './read-tool-servers.ts';
import { openSecrets } from './tool-server-secrets.ts';

interface Found {
  readonly name: string;
  /** The revision of the server when it was asked. If it has changed since then, the tools are not stored. */
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
  const found = { tools, admitted, hints: hintsOf(admitted, tools, before.hints), revision, discoveredAt: now };
  await updateTools(client, workspaceId, name, found);
  return { result: { server: { ...before, ...found } }, target: `tool-server/${name}`, detail: { change: 'refresh', tools: tools.length } };
});
