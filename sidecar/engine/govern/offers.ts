// Decides whether a tool is shown to a caller: whether identity and policy permit it. Used-up limits and caps do not
// change the result, so a list of tools stays the same as long as its snapshot.
import type { Caller } from '../decide/caller.ts';
import { planFor } from '../decide/plan.ts';
import type { GovernDeps } from './governing.ts';
import { type GovernedRun, rebind } from './run.ts';

export const offers = (deps: GovernDeps, run: GovernedRun, tool: string): boolean => offersBound(rebind(deps, run), tool);

const offersBound = (bound: ReturnType<typeof rebind>, tool: string): boolean => 'caller' in bound && offersTo(bound.caller, tool);

/**
 * Returns whether the tool is shown to the caller: whether its calls are allowed with some input. Uses the snapshot that
 * the caller is bound to, which may be older than the current one.
 */
export function offersTo(caller: Caller, tool: string): boolean {
  if (caller.halted !== null || caller.refused !== null) return false;
  const { refused, mayAllow } = caller.plans.get(tool) ?? planFor(caller, tool);
  return refused === null && mayAllow;
}

/**
 * Returns whether a rule under `tools` denies this tool. A rule for all tools of the server (`<server>.*`) does not
 * count.
 */
export function deniesByName(
  deps: GovernDeps,
  run: GovernedRun,
  { server, name }: { readonly server: string; readonly name: string },
): boolean {
  const bound = rebind(deps, run);
  if ('barred' in bound) return false;
  const { caller } = bound;
  const tool = `${server}.${name}`;
  const { outcome } = caller.plans.get(tool) ?? planFor(caller, tool);
  const path = outcome.decision === 'deny' ? (outcome.rule?.path ?? '') : '';
  return path.startsWith('tools[') && !path.startsWith(`tools[${JSON.stringify(`${server}.*`)}]`);
}
