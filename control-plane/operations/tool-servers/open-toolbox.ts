// The tools of a workspace's servers for one run, as they are registered when it begins; where the workspace pins
// definitions, those that are admitted. Nobody is asked before the first call; only then are a server's secrets opened. A
// server that policy holds no more, or by another definition, is not asked.
import type { WorkspaceServer } from '../../compile/state.ts';
import { isAdmitted } from '../../domain/tool-servers/admission.ts';
import type { LinkedServer } from '../../runs/mcp/server-link.ts';
import { createToolbox } from '../../runs/mcp/toolbox.ts';
import type { SchemaProblem } from '../../runs/tools/schema-problem.ts';
import type { Toolbox } from '../../runs/tools/tool.ts';
import { readDocument } from '../../store/policies.ts';
import { listSealedToolServers } from '../../store/tool-servers.ts';
import type { Deps } from '../operation.ts';
import { createSeats } from '../turns.ts';
import { openSecrets } from './tool-server-secrets.ts';

/** Programs that runs may have started as tool servers at the same time: one workspace's, and all of this process. */
const programs = { each: 32, all: 128 } as const;

type HeldServers = () => readonly Pick<WorkspaceServer, 'name' | 'definition'>[];

/** `held`: the servers by the policy that is held when it is asked. */
export type OpenToolbox = (workspaceId: number, enabledTools: readonly string[], held: HeldServers) => Promise<Toolbox>;

interface OpenToolboxDeps extends Pick<Deps, 'pool' | 'reach' | 'sealer'> {
  readonly schemaProblem: SchemaProblem;
}

/** One for the process. Who opens a toolbox closes it. */
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
    return createToolbox(servers, enabledTools, { reach: deps.reach, schemaProblem: deps.schemaProblem, takeSeat });
  };
}
