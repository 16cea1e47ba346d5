// Reads the name of a client of the proxy, which is the first part of the agent type.
import { nameProblem } from '@tollgate/proto/contract';
import { isFields } from '../../../upstream/wire/message.ts';
import type { Client } from './sessions.ts';

/** The name that a client gives itself, if it is valid in an agent type. */
export function clientFrom(info: unknown): Client {
  if (!isFields(info)) return unnamed;
  const { name, version } = info;
  if (typeof name !== 'string' || nameProblem(name) !== null || name.includes('::')) return unnamed;
  return typeof version === 'string' && nameProblem(version) === null ? { name, version } : { name };
}

export const unnamed: Client = { name: 'mcp' };
