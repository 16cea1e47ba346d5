// Edits a handler of ours that was rewritten as an inline table: `PreToolUse = [{ hooks = [{ type = "command", … }]
// }]`. It removes a pair of brackets around the command, and the comma that joined it. The correct pair is the one
// after whose removal the text has the expected content.
import type { Row } from '../api/answer.ts';
import { says } from './toml.ts';

/** More than the number of brackets that can surround our command. */
const pairsMax = 12;

export function withoutInline(text: string, command: string, wanted: Row): string | null {
  for (const [from, to] of bracesAround(text, command))
    for (const [start, end] of withComma(text, from, to)) {
      const left = text.slice(0, start) + text.slice(end);
      if (says(left, wanted)) return left;
    }
  return null;
}

/** The same, with another table instead. */
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

/** Returns the offsets of the last words of the command, which are the same in every way of quoting. */
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

/** Returns the span with the comma before it, with the comma after it, and without a comma. */
function withComma(text: string, from: number, to: number): readonly (readonly [number, number])[] {
  const before = /,\s*$/.exec(text.slice(0, from));
  const behind = /^\s*,\s*/.exec(text.slice(to));
  return [
    ...(before === null ? [] : [[before.index, to] as const]),
    ...(behind === null ? [] : [[from, to + behind[0].length] as const]),
    [from, to] as const,
  ];
}
