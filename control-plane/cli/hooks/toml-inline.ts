// A handler of ours that was rewritten as an inline table: `PreToolUse = [{ hooks = [{ type = "command", … }] }]`. Of the
// brackets around its command the pair is taken out, with the comma that joined it, without which the text says what it is to.
import type { Row } from '../answer.ts';
import { says } from './toml.ts';

/** More brackets than ours can stand in. */
const pairsMax = 12;

export function withoutInline(text: string, command: string, wanted: Row): string | null {
  for (const [from, to] of bracesAround(text, command))
    for (const [start, end] of withComma(text, from, to)) {
      const left = text.slice(0, start) + text.slice(end);
      if (says(left, wanted)) return left;
    }
  return null;
}

/** The same, with another table in its place. */
export function replaceInline(text: string, { command, table, wanted }: { command: string; table: string; wanted: Row }): string | null {
  for (const [from, to] of bracesAround(text, command)) {
    const replaced = text.slice(0, from) + table + text.slice(to);
    if (says(replaced, wanted)) return replaced;
  }
  return null;
}

const bracesAround = (text: string, command: string): readonly (readonly [from: number, to: number])[] =>
  placesOf(text, command).flatMap((at) =>
    bracketsBefore(text, at).flatMap((from) => bracketsBehind(text, at).map((to) => [from, to] as const)),
  );

/** Where the last words of the command stand, which no way of quoting changes. */
function placesOf(text: string, command: string): readonly number[] {
  const words = /[\w-]+ hook [\w-]+|hook [\w-]+/.exec(command)?.[0] ?? command;
  return [...text.matchAll(new RegExp(words.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'g'))].map(({ index }) => index).slice(0, pairsMax);
}

const bracketsBefore = (text: string, at: number): readonly number[] =>
  [...text.slice(0, at).matchAll(/\{/g)]
    .map(({ index }) => index)
    .toReversed()
    .slice(0, pairsMax);

const bracketsBehind = (text: string, at: number): readonly number[] =>
  [...text.slice(at).matchAll(/\}/g)].map(({ index }) => at + index + 1).slice(0, pairsMax);

/** The span with the comma before it, with the one behind it, and alone. */
function withComma(text: string, from: number, to: number): readonly (readonly [number, number])[] {
  const before = /,\s*$/.exec(text.slice(0, from));
  const behind = /^\s*,\s*/.exec(text.slice(to));
  return [
    ...(before === null ? [] : [[before.index, to] as const]),
    ...(behind === null ? [] : [[from, to + behind[0].length] as const]),
    [from, to] as const,
  ];
}
