// The same scene under ordinary names: what property 6 compares with. The names keep which wildcards speak for whom.
import type { Outcome } from './world.ts';

const long = 'n'.repeat(200);

const ordinary = new Map([
  ['__proto__', 'pp_roto'],
  ['__*', 'pp_*'],
  ['key-__proto__', 'key-pp_roto'],
  ['constructor', 'builder'],
  ['key-constructor', 'key-builder'],
  ['toString', 'print'],
  ['hasOwnProperty', 'owned'],
  ['🔥/x', 'fire/x'],
  ['🔥/*', 'fire/*'],
  ['🤖', 'robot'],
  [long, 'short'],
]);

/** A name; of an agent type each part. */
const renameText = (text: string): string =>
  text
    .split('::')
    .map((part) => ordinary.get(part) ?? part)
    .join('::');

/** Every name in it, keys included. */
export function rename<T>(value: T): T {
  const renamed = (inner: unknown): unknown => {
    if (typeof inner === 'string') return renameText(inner);
    if (Array.isArray(inner)) return inner.map(renamed);
    if (typeof inner !== 'object' || inner === null) return inner;
    return Object.fromEntries(Object.entries(inner).map(([key, child]) => [renameText(key), renamed(child)]));
  };
  // Same shape, other texts.
  return renamed(value) as T;
}

const renamePath = (path: string): string =>
  path.replace(/^(\w+)\[(".*")\]/, (_, section: string, key: string) => `${section}[${JSON.stringify(rename(JSON.parse(key)))}]`);

export const renameOutcome = (outcome: Outcome): Outcome => ({
  ...outcome,
  rule: outcome.rule === null ? null : { ...outcome.rule, path: renamePath(outcome.rule.path) },
  limits: outcome.limits.map((limit) => ({ ...limit, path: renamePath(limit.path) })),
});
