// Finds the cases in policy documents, counts them, and reads their conditions. Reading takes much longer than any other
// check of a document. So documents with too many cases are refused before a condition is read, and after some wrong
// conditions no more are read.
import { childPath, conditionBounds, keyedPath } from '@tollgate/proto/contract';
import { isObject, problem, type Problem } from '@tollgate/proto/shape';
import { readCondition } from './condition.ts';

export interface CaseCount {
  readonly cases: number;
  /** The length of the conditions as text, in bytes. */
  readonly bytes: number;
}

/** Counts the cases of documents. A value that is no document, and a case that is no object, has none. */
export const countCases = (documents: readonly unknown[]): CaseCount =>
  countWritten(documents.flatMap((document) => casesIn(document, '')));

/**
 * Returns what is wrong with so many cases in a workspace, in words that follow what contains them. Null: nothing is
 * wrong.
 */
export function caseCountProblem({ cases, bytes }: CaseCount): string | null {
  const { casesInWorkspace, sourceBytesInWorkspace } = conditionBounds;
  if (cases > casesInWorkspace) return `must have at most ${casesInWorkspace} cases in all documents, would have ${cases}`;
  if (bytes > sourceBytesInWorkspace)
    return `must have conditions of at most ${sourceBytesInWorkspace} bytes in all documents, would have ${bytes}`;
  return null;
}

const wrongMax = 20;

/**
 * Reads the conditions of documents, one at each step, so that the caller can make pauses. `checkDocument` and the
 * compiler then find them read. It reads no more than `checkDocument` would.
 */
export function* readingConditions(documents: readonly unknown[]): Generator<void> {
  const written = documents.flatMap((document) => casesIn(document, ''));
  if (caseCountProblem(countWritten(written)) !== null) return;
  let wrong = 0;
  for (const { when } of written) {
    if ('problem' in readCondition(when)) wrong += 1;
    if (wrong >= wrongMax) return;
    yield;
  }
}

/** Returns the problems of all conditions of a document, each with its place. Each place begins with `at`. */
export function checkConditions(document: unknown, at: string): readonly Problem[] {
  const written = casesIn(document, at);
  const tooMany = caseCountProblem(countWritten(written));
  if (tooMany !== null) return problem(at, tooMany);
  const problems: Problem[] = [];
  let bytes = 0;
  for (const { path, when } of written) {
    if (problems.length >= wrongMax) return [...problems, ...problem(at, 'has more conditions, which were not checked')];
    const read = readCondition(when);
    if ('problem' in read) {
      const { line, column, message } = read.problem;
      problems.push({ path: childPath(path, 'when'), message: `line ${line}, column ${column}: ${message}` });
    } else bytes += Buffer.byteLength(JSON.stringify(read.expression));
  }
  const { expressionBytesInDocument } = conditionBounds;
  return bytes <= expressionBytesInDocument
    ? problems
    : [
        ...problems,
        ...problem(at, `must have conditions of at most ${expressionBytesInDocument} bytes as sidecars receive them, would have ${bytes}`),
      ];
}

interface WrittenCase {
  /** For example `tools["payments.transfer"].api.cases[0]`. */
  readonly path: string;
  readonly when: string;
}

const countWritten = (written: readonly WrittenCase[]): CaseCount => ({
  cases: written.length,
  bytes: written.reduce((sum, { when }) => sum + Buffer.byteLength(when), 0),
});

/** Other checks find what is wrong with the form of the document. Here, what has another form is left out. */
function casesIn(document: unknown, at: string): readonly WrittenCase[] {
  const written: WrittenCase[] = [];
  const addRules = (rules: unknown, path: () => string): void => {
    for (const [tier, rule] of entriesOf(rules)) {
      if (!isObject(rule) || !Array.isArray(rule['cases'])) continue;
      for (const [index, one] of rule['cases'].entries())
        if (isObject(one) && typeof one['when'] === 'string')
          written.push({ path: `${childPath(childPath(path(), tier), 'cases')}[${index}]`, when: one['when'] });
    }
  };
  if (!isObject(document)) return written;
  addRules(document['defaults'], () => childPath(at, 'defaults'));
  for (const section of ['tools', 'agentTypes'])
    for (const [key, rules] of entriesOf(document[section])) addRules(rules, () => keyedPath(childPath(at, section), key));
  return written;
}

const entriesOf = (of: unknown): readonly (readonly [string, unknown])[] => (isObject(of) ? Object.entries(of) : []);
