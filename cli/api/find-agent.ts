import { rowsIn, textIn } from './answer.ts';
import { pagesOf } from './all-pages.ts';
import { type Client, segment } from './client.ts';
import { Failure } from '../failure.ts';

const list = '/api/v1/agents';
const idForm = /^[A-Za-z0-9]{20}$/;

/** How to find the agent that an argument must name. It is printed below the error of a command without the argument. */
export const findAgentHelp = '  the agents and their ids are listed by: tollgate agents list; --help lists the commands and options';

/** Finds an agent by its id, or else by its name if only one agent has that name. */
export async function findAgent(client: Client, named: string): Promise<string> {
  if (idForm.test(named) && (await isId(client, named))) return named;
  let found: string | null = null;
  for await (const page of pagesOf(client, list)) {
    for (const agent of rowsIn(page, 'profiles').filter(({ name }) => name === named)) {
      if (found !== null) throw new Failure(`there are several agents named ${named}; give the id of one of them`);
      found = textIn(agent, 'id');
    }
  }
  if (found === null) throw new Failure(`there is no agent ${named}; list the agents with: tollgate agents list`);
  return found;
}

/** A refusal says nothing about the names: reading the list repeats it, if it is about more than this agent. */
async function isId(client: Client, named: string): Promise<boolean> {
  try {
    await client.ask('GET', `${list}/${segment(named)}`);
    return true;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}
