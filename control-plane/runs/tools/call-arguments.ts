// The arguments of a call as the model wrote them, and as it is shown them again. Providers take nothing but an object there: what is
// none stands in one, so that the model sees what it wrote.
import { isObject } from '../../domain/shape.ts';

const field = 'unreadable_arguments';

/** For the model, where its arguments were not what they must be. */
export const shownAgainAs = `What you sent is shown in the call as "${field}".`;

/** Some providers send nothing where there are no arguments. Undefined: it is no JSON. */
export function parseArguments(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** JSON of an object, always. */
export function shownArguments(text: string): string {
  if (text.trim() === '') return '{}';
  return isObject(parseArguments(text)) ? text : JSON.stringify({ [field]: text });
}
