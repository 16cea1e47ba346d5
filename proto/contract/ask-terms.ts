// Reads compiled terms of a rule that asks a person, from a snapshot or from the question of a sidecar. What no control
// plane makes is refused. Pure.
import { askBounds, type CompiledAsk } from './approvals.ts';
import { isUid, reasonProblem } from './names.ts';
import { childPath } from './path.ts';
import type { Problem } from './shape.ts';
import { isServerName } from './tool-servers.ts';
import { isRole } from './words.ts';

/** Whether the text is `subject`, `role:<role>` or `user:<uid>`. */
export function isApprover(text: string): boolean {
  if (text.startsWith('role:')) return isRole(text.slice('role:'.length));
  if (text.startsWith('user:')) return isUid(text.slice('user:'.length));
  return text === 'subject';
}

interface Term {
  readonly isRight: (value: unknown) => boolean;
  /** Follow the place of a value that is not right. */
  readonly words: string;
}

const bounded = ({ min, max }: { readonly min: number; readonly max: number }): Term => ({
  isRight: (value) => typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max,
  words: `must be an integer from ${min} to ${max}`,
});

/** A list is never empty: the compiler omits it, so an empty one would be a second form of the same terms. */
const listOf = (max: number, items: string, isItem: (text: string) => boolean): Term => ({
  isRight: (value) =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= max &&
    value.every((item) => typeof item === 'string' && isItem(item)) &&
    new Set(value).size === value.length,
  words: `must be 1 to ${max} ${items}, each once`,
});

const yes: Term = { isRight: (value) => value === true, words: 'must be true or absent' };

const required = {
  approvers: listOf(askBounds.approvers, 'of subject, role:<role> and user:<uid>', isApprover),
  need: bounded(askBounds.need),
  waitSeconds: bounded(askBounds.waitSeconds),
  pendingSeconds: bounded(askBounds.pendingSeconds),
  validSeconds: bounded(askBounds.validSeconds),
  uses: bounded(askBounds.uses),
} as const;

const optional = {
  self: yes,
  independent: yes,
  via: { isRight: (value) => value === 'session', words: 'must be "session" or absent' },
  reason: {
    isRight: (value) => typeof value === 'string' && value.length <= askBounds.reasonLength && reasonProblem(value) === null,
    words: `must be at most ${askBounds.reasonLength} characters, without control, format or unpaired surrogate characters`,
  },
  channels: listOf(askBounds.channels, 'names of channels', isServerName),
} as const satisfies Readonly<Record<string, Term>>;

const terms = new Map<string, Term>(Object.entries({ ...required, ...optional }));

/** Returns the terms, or the first problem with them, with its place below `path`. */
export function readAskTerms(value: unknown, path: string): CompiledAsk | { readonly problem: Problem } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { problem: { path, message: 'must be an object' } };
  const given = new Map<string, unknown>(Object.entries(value));
  for (const name of given.keys())
    if (!terms.has(name)) return { problem: { path: childPath(path, name.slice(0, 40)), message: 'is not a field of the terms' } };
  for (const [name, { isRight, words }] of terms) {
    const isAbsent = !given.has(name) && !Object.hasOwn(required, name);
    if (!isAbsent && !isRight(given.get(name))) return { problem: { path: childPath(path, name), message: words } };
  }
  // Each field of the type was checked above, and there is no other.
  return value as CompiledAsk;
}
