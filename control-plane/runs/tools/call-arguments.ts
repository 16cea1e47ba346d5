// Converts the arguments of a call in two ways. The first is from the text that the model wrote to a value. The second
// is from this text to the form in which the model sees the arguments again. In that form, providers accept only an
// object. Other arguments are wrapped in an object, so that the model sees what it wrote.
import { isObject } from '@tollgate/proto/shape';

const field = 'unreadable_arguments';

/** A hint for the model when its arguments were not acceptable. */
export const shownAgainAs = `What you sent is shown in the call as "${field}".`;

/**
 * Returns the parsed arguments; undefined: the text is not JSON. Some providers send an empty text if there are no
 * arguments, so it counts as `{}`.
 */
export function parseArguments(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the arguments as the model sees them again. They are always the JSON of an object. */
export function shownArguments(text: string): string {
  if (text.trim() === '') return '{}';
  return isObject(parseArguments(text)) ? text : JSON.stringify({ [field]: text });
}
