// Parses the path and the query of a request once and strictly, and writes them in one form only. Input that different
// servers read differently is refused: segments of dots, double and encoded slashes, backslashes, NUL, escapes within
// escapes.

export type Pairs = Readonly<Record<string, Parameter | readonly Parameter[]>>;
/** Null: the parameter is a name without `=`. */
type Parameter = string | null;

export interface Target {
  /** Decoded. Empty, or begins with a slash. */
  readonly path: string;
  readonly query: Pairs;
}

type ParseResult<T> = T | { readonly problem: string };

const pairsMax = 1_000;

/** Parses the part of a request's target after `prefix`. The text of a problem continues the words "the path". */
export function parseTarget(target: string, prefix: string): ParseResult<Target> {
  // Only visible ASCII is allowed. Other characters must be escaped.
  if (!/^[!-~]*$/.test(target)) return { problem: 'holds a character that must be escaped' };
  if (!target.startsWith(prefix)) return { problem: `must begin with exactly ${prefix}` };
  const rest = target.slice(prefix.length);
  if (rest !== '' && rest[0] !== '/' && rest[0] !== '?') return { problem: `must continue with a slash after ${prefix}` };
  if (rest.includes('#')) return { problem: 'holds a fragment, which no request has' };
  const mark = rest.indexOf('?');
  const path = parsePath(mark < 0 ? rest : rest.slice(0, mark));
  if (typeof path !== 'string') return path;
  const query = parsePairs(mark < 0 ? '' : rest.slice(mark + 1), pairsMax);
  return 'problem' in query ? { problem: `has a query that ${query.problem}` } : { path, query: query.pairs };
}

function parsePath(raw: string): ParseResult<string> {
  if (raw === '') return '';
  const segments: string[] = [];
  const parts = raw.slice(1).split('/');
  for (const [at, part] of parts.entries()) {
    const segment = decoded(part);
    const problem = segment === null ? 'holds an escape that is not UTF-8' : segmentProblem(segment, at === parts.length - 1);
    if (segment === null || problem !== null) return { problem: problem ?? '' };
    segments.push(segment);
  }
  return `/${segments.join('/')}`;
}

/** Returns the problem of a decoded segment. Only the last segment may be empty. */
function segmentProblem(segment: string, isLast: boolean): string | null {
  if (word.test(segment)) return null;
  if (segment === '' && !isLast) return 'holds an empty segment';
  if (segment.includes('/') || segment.includes('\\')) return 'holds an escaped slash or a backslash';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for.
  if (/[\u0000-\u001f\u007f]/.test(segment)) return 'holds a control character';
  // Some servers decode twice, and some remove everything after a semicolon.
  if (/%[0-9a-f]{2}/i.test(segment)) return 'holds an escape within an escape';
  const name = segment.split(';', 1)[0] ?? '';
  return name === '.' || name.startsWith('..') || name.endsWith('..') || segment.endsWith('..') ? 'holds a segment of dots' : null;
}

/** Parses `a=1&b=2`, the format of queries and forms. */
export function parsePairs(raw: string, max: number): { readonly pairs: Pairs } | { readonly problem: string } {
  if (raw === '') return { pairs: {} };
  const pairs = new Map<string, Parameter | readonly Parameter[]>();
  const parts = raw.split('&');
  if (parts.length > max) return { problem: `has more than ${max} parameters` };
  const lists = new Map<string, Parameter[]>();
  for (const part of parts) {
    if (part === '') continue;
    const mark = part.indexOf('=');
    const name = decoded((mark < 0 ? part : part.slice(0, mark)).replaceAll('+', ' '));
    const value = mark < 0 ? null : decoded(part.slice(mark + 1).replaceAll('+', ' '));
    if (name === null || (value === null && mark >= 0)) return { problem: 'holds an escape that is not UTF-8' };
    if (name.includes('\u0000') || value?.includes('\u0000') === true) return { problem: 'holds NUL' };
    const list = lists.get(name);
    if (list === undefined) lists.set(name, [value]);
    else list.push(value);
  }
  for (const [name, list] of lists) pairs.set(name, list.length === 1 ? (list[0] ?? null) : list);
  // With an assignment the name `__proto__` would be treated specially.
  return { pairs: Object.fromEntries(pairs) };
}

function decoded(part: string): string | null {
  if (!part.includes('%')) return part;
  if (/%(?![0-9A-Fa-f]{2})/.test(part)) return null;
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** Returns the query with a question mark before it, or an empty text. */
export function queryText(query: Pairs): string {
  const text = pairsText(query);
  return text === '' ? '' : `?${text}`;
}

export function pairsText(pairs: Pairs): string {
  if (Object.keys(pairs).length === 0) return '';
  return Object.entries(pairs)
    .flatMap(([name, values]) => (isList(values) ? values : [values]).map((value) => [name, value] as const))
    .map(([name, value]) => (value === null ? encodeURIComponent(name) : `${encodeURIComponent(name)}=${encodeURIComponent(value)}`))
    .join('&');
}

const isList = (values: Parameter | readonly Parameter[]): values is readonly Parameter[] => Array.isArray(values);

export const pathText = (path: string): string =>
  words.test(path)
    ? path
    : path
        .split('/')
        .map((segment) => encodeURIComponent(segment).replaceAll(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent))
        .join('/');

// Most segments are such words, which need no escape and are read in one way only.
const word = /^[\w-]+$/;
const words = /^(?:\/[\w-]+)*$/;

/** Whether a value after redaction is still of this type. */
export const isPairs = (value: unknown): value is Pairs =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((one: unknown) =>
    (Array.isArray(one) ? one : [one]).every((item: unknown) => item === null || typeof item === 'string'),
  );

/** Whether a path after redaction is still valid. */
export function isPath(value: unknown): value is string {
  if (value === '') return true;
  if (typeof value !== 'string' || !value.startsWith('/')) return false;
  const segments = value.slice(1).split('/');
  return segments.every((segment, at) => segmentProblem(segment, at === segments.length - 1) === null);
}
