// Provides the tools of a workspace's servers to one run: the tools that discovery found and that `enabledTools` names.
// When a server fails, the call returns a result in words that the model can act on. A call rejects only when the run
// ends or is cancelled.
import { namesTool } from '@tollgate/proto/contract';
import { isObject } from '@tollgate/proto/shape';
import type { DiscoveredTool } from '../../tool-servers/rules/tool-server.ts';
import type { Toolbox } from '../tools/tool.ts';
import { createServerLink, type LinkDeps, type LinkedServer, notHeld, type ServerLink } from './server-link.ts';
import { failure } from './tool-answer.ts';

interface Place {
  readonly server: LinkedServer;
  readonly link: ServerLink;
  readonly tool: DiscoveredTool;
}

export function createToolbox(servers: readonly LinkedServer[], enabledTools: readonly string[], deps: LinkDeps): Toolbox {
  const places = new Map<string, Place>();
  const links: ServerLink[] = [];
  for (const server of servers) {
    const enabled = server.tools.filter(({ name }) => namesTool(enabledTools, `${server.name}.${name}`));
    if (enabled.length === 0) continue;
    const link = createServerLink(server, deps);
    links.push(link);
    for (const tool of enabled) places.set(`${server.name}.${tool.name}`, { server, link, tool });
  }
  return {
    tools: [...places].map(
      ([
        name,
        {
          tool: { description, inputSchema },
        },
      ]) => ({ name, description, inputSchema }),
    ),
    gone: (name) => (places.get(name)?.server.isHeld() === false ? notHeld : null),
    call: async (name, input, context) => {
      context.signal.throwIfAborted();
      const place = places.get(name);
      if (place === undefined) return failure('there is no such tool');
      return isObject(input) ? place.link.call(place.tool, input, context) : failure('the input must be an object');
    },
    close: async () => {
      await Promise.all(links.map((link) => link.close()));
    },
  };
}
