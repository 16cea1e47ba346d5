// What a client of the proxy calls itself, which is the first part of the agent type.
import { nameProblem } from '@tollgate/proto/contract';
import { isFields } from './wire/message.ts';
import type { Client } from './sessions.ts';

/** A client's name for itself, where it can be one of an agent type. */
export function clientFrom(info: unknown): Client {
  if (!isFields(info)) return unnamed;
  const { name, version } = info;
  if (typeof name !== 'string' || nameProblem(name) !== null || name.includes('::')) return unnamed;
  return typeof version === 'string' && nameProblem(version) === null ? { name, version } : { name };
}

export const unnamed: Client = { name: 'mcp' };
