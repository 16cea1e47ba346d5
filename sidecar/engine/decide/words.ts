// Builds the text that follows the code of a reason: which layer, which place, and which value.
import type { Tier, UndecidedCase } from '@tollgate/proto/contract';
import type { Limit } from './decision.ts';
import type { Winner } from './fold.ts';

const quote = (name: string): string => JSON.stringify(name);

/** Returns the layer in words. For example `role "member"` or `the workspace`. */
function layerWords(by: Pick<Winner, 'layer' | 'part'> & { readonly document: string }): string {
  const name = by.document.slice(by.document.indexOf(':') + 1);
  switch (by.layer) {
    case 'default':
      return 'the built-in default';
    case 'workspace':
      return 'the workspace';
    case 'role':
      return `role ${quote(name)}`;
    case 'agent-type':
      return `agent type ${quote(name)}`;
    case 'user': {
      const user = quote(name.slice(0, name.lastIndexOf(':')));
      return by.part === 'self' ? `user ${user}, for themselves,` : `the organisation, for user ${user},`;
    }
  }
}

export function ruleWords(
  verb: 'allows' | 'denies' | 'asks a person about' | 'redacts' | 'logs',
  by: Winner,
  tool: string,
  tier: Tier,
): string {
  const place = by.path === '' ? '' : ` (${by.path}${by.override ? ', override' : ''})`;
  const reason = by.reason === undefined ? '' : `: ${by.reason}`;
  return `${layerWords(by)} ${verb} ${tier} calls of ${quote(tool)}${place}${reason}`;
}

export function limitWords(limit: Limit, windowSeconds: number): string {
  const document = limit.id.slice(0, limit.id.length - limit.path.length - 1);
  const by = layerWords({ layer: limit.layer, part: limit.part ?? null, document });
  return `${by} allows ${limit.max} calls in ${windowSeconds} s (${limit.path})`;
}

/** Continues the reason of a denial by a case whose condition could not be evaluated. */
export const notKnownWords = ({ at, reason }: Pick<UndecidedCase, 'at' | 'reason'>): string =>
  `; it is not known whether this case holds, because ${variableIn(at)} cannot be evaluated (${reason})`;

/**
 * Returns the variable in a part of a condition: `args.to` for `args.to == "bob"`. The caller does not learn the rest of the
 * condition.
 */
export const variableIn = (at: string): string => /\b(?:args|tool|agent|user)\b(?:\.[A-Za-z_]\w*|\[\d+\])*/.exec(at)?.[0] ?? 'args';
