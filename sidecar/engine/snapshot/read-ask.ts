// Reads the terms of a rule or case that asks a person. What is not within the bounds of the contract is rejected, because
// the control plane makes no such terms.
import { askBounds, bounds, type CompiledAsk, isRole, nameProblem, type Rule } from '@tollgate/proto/contract';
import { array, boolean, type Fields, integer, InvalidEntry, object, oneOf, type Reader, string } from './read.ts';

const permission = oneOf('allow', 'deny', 'ask');

/** Returns `permission`, and `ask`, which is present exactly if the permission is `ask`. */
export function readAsking(of: Fields, path: string): Pick<Rule, 'permission' | 'ask'> {
  const said = of.optional('permission', permission);
  const ask = of.optional('ask', readAsk);
  if ((said === 'ask') !== (ask !== undefined)) throw new InvalidEntry(`${path}.ask: must be present exactly if permission is "ask"`);
  return said === undefined ? {} : { permission: said, ...(ask === undefined ? {} : { ask }) };
}

const bounded = ({ min, max }: { readonly min: number; readonly max: number }): Reader<number> => integer(min, max);
const only =
  (max: number): Reader<string> =>
  (value, path) => {
    const words = string(value, path);
    if (words.length > max) throw new InvalidEntry(`${path}: must be at most ${max} characters, is ${words.length}`);
    return words;
  };

function readAsk(value: unknown, path: string): CompiledAsk {
  const ask = object(value, path);
  ask.only(...askFields);
  const [self, independent] = [ask.optional('self', yes), ask.optional('independent', yes)];
  const via = ask.optional('via', oneOf('session'));
  const reason = ask.optional('reason', only(askBounds.reasonLength));
  const channels = ask.optional('channels', listOf(askBounds.channels, only(bounds.nameLength)));
  return {
    approvers: ask.read('approvers', listOf(askBounds.approvers, approver)),
    need: ask.read('need', bounded(askBounds.need)),
    waitSeconds: ask.read('waitSeconds', bounded(askBounds.waitSeconds)),
    pendingSeconds: ask.read('pendingSeconds', bounded(askBounds.pendingSeconds)),
    validSeconds: ask.read('validSeconds', bounded(askBounds.validSeconds)),
    uses: ask.read('uses', bounded(askBounds.uses)),
    ...(self === undefined ? {} : { self }),
    ...(independent === undefined ? {} : { independent }),
    ...(via === undefined ? {} : { via }),
    ...(reason === undefined ? {} : { reason }),
    ...(channels === undefined ? {} : { channels }),
  };
}

const askFields: readonly (keyof CompiledAsk)[] = [
  'approvers',
  'need',
  'waitSeconds',
  'pendingSeconds',
  'validSeconds',
  'uses',
  'self',
  'independent',
  'via',
  'reason',
  'channels',
];

const yes: Reader<true> = (value, path) => {
  if (boolean(value, path)) return true;
  throw new InvalidEntry(`${path}: must be true, or absent`);
};

const listOf =
  <T>(max: number, item: Reader<T>): Reader<readonly T[]> =>
  (value, path) => {
    const items = array(item)(value, path);
    if (items.length === 0 || items.length > max) throw new InvalidEntry(`${path}: must have 1 to ${max} items, has ${items.length}`);
    if (new Set(items).size < items.length) throw new InvalidEntry(`${path}: must not have an item twice`);
    return items;
  };

const approver: Reader<string> = (value, path) => {
  const name = string(value, path);
  const at = name.indexOf(':');
  const [kind, of] = [name.slice(0, at), name.slice(at + 1)];
  if (name === 'subject' || (kind === 'role' && isRole(of)) || (kind === 'user' && nameProblem(of) === null)) return name;
  throw new InvalidEntry(`${path}: must be "subject", "role:<role>" or "user:<uid>"`);
};
