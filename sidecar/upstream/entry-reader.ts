// Reads the operator's JSON. Each problem is stored with its place, and reading continues. Texts may reference
// environment variables as `${NAME}`. Their values are secrets and never appear in a problem.
import { childPath, keyedPath } from '@tollgate/proto/contract';

export interface EntryReader {
  readonly problems: readonly string[];
  /** Returns the value as an object. Null: it is not an object, and a problem is stored. */
  object(value: unknown, path: string): Readonly<Record<string, unknown>> | null;
  /** Stores a problem for each field that is not in `allowed`. */
  only(fields: Readonly<Record<string, unknown>>, path: string, allowed: readonly string[]): void;
  /**
   * Returns the text with its variables replaced. Null: the value is not a text, a variable is not set, or `check` has
   * a problem. `check` tests the result. Its problem text must not quote the result.
   */
  text(value: unknown, path: string, check?: (text: string) => string | null): string | null;
  texts(value: unknown, path: string): readonly string[];
  /** Reads an object whose values are texts. If `value` is undefined, the result is empty. */
  named(
    value: unknown,
    path: string,
    checks: { readonly name: (name: string) => string | null; readonly value: (text: string) => string | null },
  ): Readonly<Record<string, string>>;
  report(path: string, words: string): void;
}

const reference = /\$\{([^}]*)\}?/g;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function createEntryReader(env: Readonly<Record<string, string | undefined>>): EntryReader {
  const problems: string[] = [];
  const report = (path: string, words: string): void => void problems.push(`${path === '' ? 'the file' : path} ${words}`);

  /** Returns the value of a reference, or its problem. */
  const valueOf = (whole: string, name: string): { readonly value: string } | { readonly problem: string } => {
    if (!whole.endsWith('}') || !variableName.test(name))
      return { problem: 'has a "${" that does not begin a variable: "${NAME}", of letters, digits and _' };
    if (name.startsWith('TOLLGATE_')) return { problem: `names ${name}, which belongs to Tollgate and is passed to no tool` };
    const value = env[name];
    return value === undefined || value === '' ? { problem: `names the variable ${name}, which is not set in the environment` } : { value };
  };

  const expand = (text: string, path: string): string | null => {
    let failed = false;
    const expanded = text.replaceAll(reference, (whole, name: string) => {
      const found = valueOf(whole, name);
      if ('value' in found) return found.value;
      failed = true;
      report(path, found.problem);
      return '';
    });
    return failed ? null : expanded;
  };

  const reader: EntryReader = {
    problems,
    report,
    object: (value, path) => {
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
      report(path, 'must be an object');
      return null;
    },
    only: (fields, path, allowed) => {
      for (const name of Object.keys(fields))
        if (!allowed.includes(name)) report(childPath(path, name), `is not a field here; there are ${allowed.join(', ')}`);
    },
    text: (value, path, check = () => null) => {
      if (typeof value !== 'string') {
        report(path, 'must be a string');
        return null;
      }
      const text = expand(value, path);
      const problem = text === null ? null : text.includes('\0') ? 'must not contain NUL' : check(text);
      if (problem !== null) report(path, problem);
      return problem === null ? text : null;
    },
    texts: (value, path) => {
      if (Array.isArray(value)) return value.flatMap((one, at) => reader.text(one, `${path}[${at}]`) ?? []);
      report(path, 'must be a list of strings');
      return [];
    },
    named: (value, path, checks) => {
      const fields = value === undefined ? {} : (reader.object(value, path) ?? {});
      const pairs = Object.entries(fields).map(([name, one]) => {
        const problem = checks.name(name);
        if (problem !== null) report(keyedPath(path, name), problem);
        return [name, reader.text(one, keyedPath(path, name), checks.value) ?? ''] as const;
      });
      return Object.fromEntries(pairs);
    },
  };
  return reader;
}
