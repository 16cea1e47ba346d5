// Defines what this process may do for a tool server: the operator's rules and the time limits.
import { type AddressRules, systemResolve } from '@tollgate/sidecar/upstream';
import type { ToolServerRules } from '../../tool-servers/rules/tool-server-definition.ts';

export interface Reach extends ToolServerRules, AddressRules {
  /**
   * The environment variables of this process that every program receives, in addition to the variables of its
   * definition.
   */
  readonly programEnv: Readonly<Record<string, string>>;
  /** The time limit for listing a server's tools, including connecting, in ms. */
  readonly discoverMs: number;
  /** The time limit for one call of a tool, including connecting, in ms. */
  readonly callMs: number;
}

const discoverMs = 10_000;

export const callMsDefault = 60_000;

export const createReach = (rules: ToolServerRules, programEnv: Reach['programEnv'], callMs = callMsDefault): Reach => ({
  ...rules,
  programEnv,
  discoverMs,
  callMs,
  resolve: systemResolve,
});
