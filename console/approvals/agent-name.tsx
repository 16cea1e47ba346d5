// The agent that calls, by its name. An approval has the id of a registered agent, and the name of any other.
import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import { useNamedAgents } from '../app/names.ts';
import { Foreign } from '../parts/foreign.tsx';
import { Tag } from '../parts/tag.tsx';
import type { Approval } from './state.tsx';

interface AgentNameProps {
  readonly call: Approval['call'];
  readonly isLink?: boolean;
}

/** The name of the caller as a text: of a registered agent that of its profile. */
export function useAgentName(call: Approval['call']): string {
  const agents = useNamedAgents();
  const shown = call.agents.at(-1) ?? call.agent;
  return knownAgent(agents.data, call)?.name ?? shown;
}

/** An agent that is not registered may bear the id of one that is. The type has the name by which it called. */
function knownAgent(agents: ReturnType<typeof useNamedAgents>['data'], call: Approval['call']) {
  const shown = call.agents.at(-1) ?? call.agent;
  return agents?.find(({ id, name }) => id === shown && call.agentType.endsWith(`::${name}`));
}

/** The caller itself. */
export function AgentName({ call, isLink = true }: AgentNameProps) {
  const agents = useNamedAgents();
  const shown = call.agents.at(-1) ?? call.agent;
  const known = knownAgent(agents.data, call);
  if (known === undefined)
    return (
      <>
        <Foreign text={shown} max={60} />
        {agents.data !== undefined && (
          <>
            {' '}
            <Tag isWarning>not registered</Tag>
          </>
        )}
      </>
    );
  const name = <Foreign text={known.name} max={60} />;
  return isLink ? (
    <Anchor component={Link} to={`/agents/${known.id}`} inherit underline="hover">
      {name}
    </Anchor>
  ) : (
    name
  );
}

/** The agents from the root to the caller. */
export function Chain({ call }: { readonly call: Approval['call'] }) {
  const agents = useNamedAgents();
  const above = call.agents.slice(0, -1);
  return (
    <>
      {above.map((one, at) => {
        const name = agents.data?.find(({ id }) => id === one)?.name;
        return (
          <span key={at}>
            <Foreign text={name ?? one} max={60} />
            <span aria-label="delegates to"> → </span>
          </span>
        );
      })}
      <AgentName call={call} />
    </>
  );
}
