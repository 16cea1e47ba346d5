// Converts the arguments of a call in two ways. The first is from the text that the model wrote to a value. The second
// is from this text to the form in which the model sees the arguments again. In that form, providers accept only an
// object. Other arguments are wrapped in an object, so that the model sees what it wrote.
import { parseStrictText } from '@tollgate/sidecar/engine';
import { isObject } from '@tollgate/proto/shape';

const field = 'unreadable_arguments';

/** A hint for the model when its arguments were not acceptable. */
export const shownAgainAs = `What you sent is shown in the call as "${field}".`;

export type ParsedArguments =
  | { readonly value: unknown }
  /** `value`: what was read in spite of the problem; absent: nothing, because the text is not JSON. */
  | { readonly problem: string; readonly value?: unknown };

/**
 * Returns the parsed arguments. A problem is also what a tool could read in another way than policy: a key that occurs
 * twice, or a number that would be rounded. Some providers send an empty text if there are no arguments, so it counts as
 * `{}`.
 */
export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === '') return { value: {} };
  const value = parsedJson(text);
  if (value === undefined) return { problem: 'the arguments are not JSON' };
  const strict = parseStrictText(text);
  return 'problem' in strict ? { problem: `the text of the arguments ${strict.problem}`, value } : { value };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the arguments as the model sees them again. They are always the JSON of an object. */
export function shownArguments(text: string): string {
  if (text.trim() === '') return '{}';
  return isObject(parsedJson(text)) ? text : JSON.stringify({ [field]: text });
}
