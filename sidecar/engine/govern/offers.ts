// Decides whether a tool is shown to a caller: whether identity and policy permit it. Used-up limits and caps do not
// change the result, so a list of tools stays the same as long as its snapshot. A tool whose rules have cases is shown if
// some input may be allowed. A call of it with another input is denied, but the tool is not unknown.
import type { Caller } from '../decide/caller.ts';
import { answerCases } from '../decide/cases.ts';
import { outcomeByCases, planFor } from '../decide/plan.ts';
import { CallInput } from './call-input.ts';
import type { GovernDeps } from './governing.ts';
import { type GovernedRun, rebind } from './run.ts';

export const offers = (deps: GovernDeps, run: GovernedRun, tool: string): boolean => offersBound(rebind(deps, run), tool);

const offersBound = (bound: ReturnType<typeof rebind>, tool: string): boolean => 'caller' in bound && offersTo(bound.caller, tool);

/**
 * Returns whether the tool is shown to the caller: whether its calls are allowed, or asked for, with some input. Uses the snapshot that
 * the caller is bound to, which may be older than the current one.
 */
export function offersTo(caller: Caller, tool: string): boolean {
  if (caller.halted !== null || caller.refused !== null) return false;
  const { refused, mayAllow } = caller.plans.get(tool) ?? planFor(caller, tool);
  return refused === null && mayAllow;
}

/**
 * Returns whether the tool may be called with this input, also if a person is asked first. Nothing is counted, and nothing is recorded. `input`: JSON that
 * the door has parsed.
 */
export function offersWith(
  deps: GovernDeps,
  run: GovernedRun,
  { tool, input }: { readonly tool: string; readonly input: unknown },
): boolean {
  const bound = rebind(deps, run);
  if (!('caller' in bound) || !offersTo(bound.caller, tool)) return false;
  const { caller } = bound;
  const { cases } = caller.plans.get(tool) ?? planFor(caller, tool);
  if (cases === null) return true;
  const answered = answerCases(caller.index, cases, new CallInput(deps, { input, isOwnInput: true }));
  const planned = outcomeByCases(caller, tool, undefined, cases, answered);
  const outcome = planned.asked?.approved ?? planned.outcome;
  return outcome.decision === 'allow' && outcome.limits.limits.every(({ max }) => max > 0);
}

/**
 * Returns whether a rule under `tools` denies this tool with every input. A rule for all tools of the server
 * (`<server>.*`) does not count.
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
  const { outcome, mayAllow } = caller.plans.get(tool) ?? planFor(caller, tool);
  const path = outcome.decision === 'deny' && !mayAllow ? (outcome.rule?.path ?? '') : '';
  return path.startsWith('tools[') && !path.startsWith(`tools[${JSON.stringify(`${server}.*`)}]`);
}
