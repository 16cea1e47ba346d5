import { rowsIn, textIn } from './answer.ts';
import type { Client } from './client.ts';
import { Failure } from '../failure.ts';

/** Finds an agent by its id, or else by its name if only one agent has that name. */
export async function findAgent({ ask }: Client, named: string): Promise<string> {
  const agents = rowsIn(await ask('GET', '/api/v1/agents'), 'profiles');
  const found = agents.filter((agent) => agent['id'] === named);
  const [first, second] = found.length > 0 ? found : agents.filter((agent) => agent['name'] === named);
  if (first === undefined) throw new Failure(`there is no agent ${named}; list the agents with: tollgate agents list`);
  if (second !== undefined) throw new Failure(`there are several agents named ${named}; give the id of one of them`);
  return textIn(first, 'id');
}
