// The arguments of a call as the model wrote them, and as the model sees them again. Providers accept only an object
// there. Other arguments are wrapped in an object, so that the model sees what it wrote.
import { isObject } from '@tollgate/proto/shape';

const field = 'unreadable_arguments';

/** A hint for the model when its arguments were not acceptable. */
export const shownAgainAs = `What you sent is shown in the call as "${field}".`;

/** Some providers send an empty text when there are no arguments. Undefined: the text is not JSON. */
export function parseArguments(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Always returns the JSON of an object. */
export function shownArguments(text: string): string {
  if (text.trim() === '') return '{}';
  return isObject(parseArguments(text)) ? text : JSON.stringify({ [field]: text });
}
