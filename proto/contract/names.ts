// Defines what a valid name is. Also defines which names match a key of a list or document; such a key may be a
// wildcard, for example `github.*`. Names are equal only if all code units are equal.
import { bounds } from './bounds.ts';
import { isTier, type Tier } from './words.ts';

// Refuses control characters (Cc), format characters (Cf) and unpaired surrogates (Cs). Private-use and unassigned
// characters are permitted.
const refused = /[\p{Cc}\p{Cf}\p{Cs}]/u;
const blankEnd = /^\s|\s$/u;
const uid = /^[A-Za-z0-9_.@|-]{1,128}$/;
const uidForm = '1 to 128 of A-Z a-z 0-9 _ . @ | -';
/**
 * A uid is used as a segment of a path, which cannot be `.` or `..`, and as a key of a JSON body, which cannot be
 * `__proto__`.
 */
const unusableUids: ReadonlySet<string> = new Set(['__proto__', '.', '..']);
const slug = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
const reservedSlugs = new Set('api admin govern mcp tools hooks console docs healthz readyz metrics openapi'.split(' '));
const wildcardEnd = /[._/:-]\*$/;

/** Returns the problem with a tool, tier or agent name, in words that follow its path. Null: there is no problem. */
export function nameProblem(name: string): string | null {
  if (name.length === 0) return 'must not be empty';
  if (name.length > bounds.nameLength) return `must be at most ${bounds.nameLength} characters, is ${name.length}`;
  const hidden = reasonProblem(name);
  if (hidden !== null) return hidden;
  if (blankEnd.test(name)) return 'must not begin or end with a blank';
  return null;
}

/** Returns the problem with a reason, which people and agents read. Null: there is no problem. */
export const reasonProblem = (words: string): string | null =>
  refused.test(words) ? 'must hold no control, format or unpaired surrogate character' : null;

export const isUid = (value: string): boolean => uid.test(value);

/** Returns why a uid is not permitted, in words that follow its place. Null: it is permitted. */
export function uidProblem(value: string): string | null {
  if (!isUid(value)) return `must be ${uidForm}`;
  return unusableUids.has(value) ? `must not be ${[...unusableUids].join(', ')}: a path or a document cannot contain this uid` : null;
}

export const isSlug = (value: string): boolean => slug.test(value) && !reservedSlugs.has(value);

/**
 * Returns the prefix of a wildcard: `github.` for `github.*`, which matches names that begin with `github.`. Null: the
 * key is an ordinary name, such as `*` alone or `git*`.
 */
export const wildcardPrefix = (key: string): string | null => (wildcardEnd.test(key) ? key.slice(0, -1) : null);

/** Returns the names that both lists contain. If two keys overlap, the narrower one is returned. */
export function intersectTools(a: readonly string[], b: readonly string[]): readonly string[] {
  const narrower = [...a.filter((key) => namesTool(b, key)), ...b.filter((key) => namesTool(a, key))];
  return [...new Set(narrower)];
}

/** Returns whether a list such as `enabledTools` contains the tool, directly or by a wildcard. */
export function namesTool(keys: readonly string[], tool: string): boolean {
  return keys.some((key) => {
    const prefix = wildcardPrefix(key);
    return key === tool || (prefix !== null && tool.startsWith(prefix));
  });
}

export interface AgentType {
  readonly client: string;
  readonly tier: string;
  readonly name: string;
}

/** Returns `<client>::<tier>::<name>`. The name may be empty. */
export const agentTypeKey = ({ client, tier, name }: AgentType): string => `${client}::${tier}::${name}`;

/** Returns the three parts of an agent-type key, split at its first two `::`. Null: it is not such a key. */
export function parseAgentType(key: string): (AgentType & { readonly tier: Tier }) | null {
  const first = key.indexOf('::');
  const second = first < 0 ? -1 : key.indexOf('::', first + 2);
  if (second < 0) return null;
  const client = key.slice(0, first);
  const tier = key.slice(first + 2, second);
  const name = key.slice(second + 2);
  if (nameProblem(client) !== null || !isTier(tier) || (name !== '' && nameProblem(name) !== null)) return null;
  return { client, tier, name };
}
