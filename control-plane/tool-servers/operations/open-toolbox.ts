// Opens the tools of a workspace's servers for one run, as they are registered when the run begins. If the workspace
// pins definitions, only admitted tools are included. No server is contacted and no secret is decrypted before the
// first call. The MCP client is loaded by the first run. A server is not called if the policy no longer contains it, or contains it with another definition.
import type { WorkspaceServer } from '../../workspaces/rules.ts';
import { isAdmitted } from '../rules/admission.ts';
import type { LinkedServer } from '../../runs/mcp/server-link.ts';
import type { SchemaProblem } from '../../runs/tools/schema-problem.ts';
import type { Toolbox } from '../../runs/tools/tool.ts';
import { readDocument } from '../../policies/store/policies.ts';
import { listSealedToolServers } from '../store/tool-servers.ts';
import type { OperationDeps } from '../../access/operation.ts';
import { createSeats } from '../../base/turns.ts';
import { openSecrets } from './tool-server-secrets.ts';

/**
 * The maximum number of programs that run at the same time because runs started them as tool servers. `each`: for one
 * workspace. `all`: for this process.
 */
const programs = { each: 32, all: 128 } as const;

type HeldServers = () => readonly Pick<WorkspaceServer, 'name' | 'definition'>[];

/** `held` returns the servers of the policy that is in effect when it is called. */
export type OpenToolbox = (workspaceId: number, enabledTools: readonly string[], held: HeldServers) => Promise<Toolbox>;

interface OpenToolboxDeps extends Pick<OperationDeps, 'pool' | 'reach' | 'sealer'> {
  readonly schemaProblem: SchemaProblem;
}

/**
 * A process creates one instance, because the maximum number of programs is counted for each instance. The caller that
 * opens a toolbox must close it.
 */
export function createOpenToolbox(deps: OpenToolboxDeps): OpenToolbox {
  const seats = createSeats<number>(programs);
  return async (workspaceId, enabledTools, held) => {
    const stored = await listSealedToolServers(deps.pool, workspaceId, enabledTools);
    const policy = await readDocument(deps.pool, workspaceId, { layer: 'workspace' });
    const servers = stored.map(({ server, sealed, definition }): LinkedServer => {
      const { name, target, admitted } = server;
      const tools = policy?.toolDefinitions === 'pinned' ? server.tools.filter((tool) => isAdmitted(admitted, tool)) : server.tools;
      const secrets = () => openSecrets(deps, { workspaceId, name, target }, sealed);
      const isHeld = () => held().some((one) => one.name === name && one.definition === definition);
      return { name, target, tools, secrets, isHeld };
    });
    const takeSeat = () => {
      const seat = seats.take(workspaceId);
      return 'leave' in seat ? seat : null;
    };
    const { createToolbox } = await import('../../runs/mcp/toolbox.ts');
    return createToolbox(servers, enabledTools, { reach: deps.reach, schemaProblem: deps.schemaProblem, takeSeat });
  };
}
