// Makes the large payloads of the family `sizes` from a few parameters, so that its rows need no large files. Pure: the
// same parameters always make the same payload.
import { createRandom } from '../chaos/kills/random.ts';
import { type Line, type LineKind, lineMakers } from './payload-lines.ts';
import { createValues } from './payload-values.ts';

/** `text`: lines. `result`: the lines as the text of a tool's result, in JSON. `list`: JSON whose items are the lines. */
export const payloadShapes = ['text', 'result', 'list'] as const;
export type PayloadShape = (typeof payloadShapes)[number];

export interface Payload {
  readonly make: LineKind;
  readonly shape: PayloadShape;
  readonly lines: number;
  readonly seed: number;
  /** Each line of this number, from the first, has something to replace. 0: no line has. */
  readonly every: number;
  /** So many values of a kind differ. 0: no value is used twice on purpose. */
  readonly distinct: number;
}

export function makeLines({ make, lines, seed, every, distinct }: Payload): readonly Line[] {
  const random = createRandom(seed);
  const source = { random, values: createValues(random.fork('values'), distinct) };
  const { head, secret, harmless } = lineMakers[make];
  const body = Array.from({ length: lines }, (_, at) =>
    secret !== undefined && every > 0 && at % every === 0 ? secret(source, at) : harmless(source, at),
  );
  return head === undefined ? body : [[head], ...body];
}

/** Returns the payload as redaction gets it. */
export function payloadText(lines: readonly Line[], shape: PayloadShape): string {
  const texts = lines.map((line) => line.join(''));
  if (shape === 'text') return texts.join('\n');
  if (shape === 'list') return `{"items":[${texts.join(',')}]}`;
  return JSON.stringify({ content: [{ text: texts.join('\n'), type: 'text' }], isError: false });
}

/** Returns the lines of a payload that was redacted. Null: it has another structure now. */
export function linesOfPayload(output: string, shape: PayloadShape): readonly string[] | null {
  if (shape === 'text') return output.split('\n');
  const parsed = parsedOf(output);
  if (shape === 'list') return Array.isArray(parsed['items']) ? parsed['items'].map((item) => JSON.stringify(item)) : null;
  const first: unknown = Array.isArray(parsed['content']) ? parsed['content'][0] : null;
  return typeof first === 'object' && first !== null && 'text' in first && typeof first.text === 'string' ? first.text.split('\n') : null;
}

function parsedOf(output: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(output);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}
