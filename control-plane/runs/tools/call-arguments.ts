// Converts the arguments of a call: from the text that the model wrote, and to the form in which the model sees them
// again. In that form, providers accept only an object. Other arguments are wrapped in an object, so that the model
// sees what it wrote.
import { isObject } from '@tollgate/proto/shape';

const field = 'unreadable_arguments';

/** A hint for the model when its arguments were not acceptable. */
export const shownAgainAs = `What you sent is shown in the call as "${field}".`;

/**
 * Returns the parsed arguments; undefined: the text is not JSON. An empty text counts as no arguments, because some
 * providers send it.
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
