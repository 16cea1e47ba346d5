// Renames a scene to ordinary names, for the comparison in property 6. The new names preserve which wildcards match
// which tools.
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

/** Renames one name, or each part of an agent type. */
const renameText = (text: string): string =>
  text
    .split('::')
    .map((part) => ordinary.get(part) ?? part)
    .join('::');

/** Renames every name in the value, keys included. */
export function rename<T>(value: T): T {
  const renamed = (inner: unknown): unknown => {
    if (typeof inner === 'string') return renameText(inner);
    if (Array.isArray(inner)) return inner.map(renamed);
    if (typeof inner !== 'object' || inner === null) return inner;
    // Conditions name the fields of inputs, so these keep their names.
    return Object.fromEntries(Object.entries(inner).map(([key, child]) => [renameText(key), key === 'input' ? child : renamed(child)]));
  };
  // The shape is the same, only the texts differ.
  return renamed(value) as T;
}

const renamePath = (path: string): string =>
  path.replaceAll(
    /(^\w+|\.cases)\[("(?:[^"\\]|\\.)*")\]/g,
    (_, section: string, key: string) => `${section}[${JSON.stringify(rename(JSON.parse(key)))}]`,
  );

/** Renames a text `<document> <path>`. */
function renameAsk(ask: string): string {
  const at = ask.indexOf(' ');
  return `${ask
    .slice(0, at)
    .split(/(?<!:):(?!:)/)
    .map(renameText)
    .join(':')} ${renamePath(ask.slice(at + 1))}`;
}

export const renameOutcome = (outcome: Outcome): Outcome => ({
  ...outcome,
  rule: outcome.rule === null ? null : { ...outcome.rule, path: renamePath(outcome.rule.path) },
  asks: outcome.asks.map(renameAsk).toSorted(),
  limits: outcome.limits.map((limit) => ({ ...limit, path: renamePath(limit.path) })),
});
