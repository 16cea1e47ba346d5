// Finds the word before a number that says what the number is.
import { type Context, contextWords } from './context-words.ts';
import { createLabels, type Label } from './labels.ts';

/** The maximum distance from a number to the beginning of its label. */
const labelReach = 64;

const labels = createLabels<Context>(contextWords);

/** Returns the nearest label before `at`, or null. */
export const labelBefore = (text: string, at: number, reach = labelReach): Label<Context> | null =>
  labels.lastIn(text, Math.max(0, at - reach), at);

/** Returns whether there is a label of this context before `at`, even if other labels are nearer. */
export const hasLabelBefore = (text: string, at: number, context: Context, reach: number): boolean =>
  labels.lastIn(text, Math.max(0, at - reach), at, context) !== null;

/** Returns whether the name of a key says what its value is. */
export const isContextName = (name: string): boolean => labels.lastIn(name, 0, name.length) !== null;
