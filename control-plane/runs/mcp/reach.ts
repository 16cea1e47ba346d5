// How far this process goes for a tool server: what the operator allows, and for how long.
import { lookup } from 'node:dns/promises';
import type { ToolServerRules } from '../../domain/tool-servers/tool-server-definition.ts';

export interface Address {
  readonly address: string;
  readonly family: number;
}

export interface Reach extends ToolServerRules {
  /** How long a server may take to list its tools, connecting included. */
  readonly discoverMs: number;
  /** How long one call of a tool may take, connecting included. */
  readonly callMs: number;
  /** Every address of a host name. */
  readonly resolve: (hostname: string) => Promise<readonly Address[]>;
}

const discoverMs = 10_000;

export const callMsDefault = 60_000;

export const createReach = (rules: ToolServerRules, callMs = callMsDefault): Reach => ({
  ...rules,
  discoverMs,
  callMs,
  resolve: (hostname) => lookup(hostname, { all: true, verbatim: true }),
});
