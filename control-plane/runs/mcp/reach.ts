// Defines what this process may do for a tool server: the operator's rules and the time limits.
import { lookup } from 'node:dns/promises';
import type { ToolServerRules } from '../../tool-servers/rules/tool-server-definition.ts';

export interface Address {
  readonly address: string;
  readonly family: number;
}

export interface Reach extends ToolServerRules {
  /** The time limit for listing a server's tools, including connecting, in ms. */
  readonly discoverMs: number;
  /** The time limit for one call of a tool, including connecting, in ms. */
  readonly callMs: number;
  /** Returns every address of a host name. */
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
