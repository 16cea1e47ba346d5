// Which word stands before a number and says what the number is.
import { type Context, contextWords } from './context-words.ts';
import { createLabels, type Label } from './labels.ts';

/** How far before a number its label may begin. */
const labelReach = 64;

const labels = createLabels<Context>(contextWords);

/** The nearest label before `at`, null if there is none. */
export const labelBefore = (text: string, at: number, reach = labelReach): Label<Context> | null =>
  labels.lastIn(text, Math.max(0, at - reach), at);

/** Whether there is a label of this context before `at`, even if others stand nearer. */
export const hasLabelBefore = (text: string, at: number, context: Context, reach: number): boolean =>
  labels.lastIn(text, Math.max(0, at - reach), at, context) !== null;

/** Whether a key says what its value is. */
export const isContextName = (name: string): boolean => labels.lastIn(name, 0, name.length) !== null;
