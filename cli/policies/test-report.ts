// Writes the results of policy tests: as lines for people, as JSON, and as JUnit XML for a pipeline.
import { escapeText } from '../print/escape.ts';
import type { Paint } from '../print/print.ts';
import type { TestedCall, TestedFile } from './run-tests.ts';

export const failedIn = (files: readonly TestedFile[]): number =>
  files.flatMap(({ calls }) => calls).filter(({ differences }) => differences.length > 0).length;

const countIn = (files: readonly TestedFile[]): number => files.reduce((sum, { calls }) => sum + calls.length, 0);

/** Returns the lines for people: one for each call, what differs below it, and a summary. */
export function reportLines(files: readonly TestedFile[], paint: Paint): readonly string[] {
  const [count, failed] = [countIn(files), failedIn(files)];
  const summary = `${count} calls, ${failed === 0 ? 'all decided as expected' : `${failed} not decided as expected`}`;
  return [
    ...files.flatMap(({ file, calls }) => [paint.bold(escapeText(file)), ...calls.flatMap((one) => callLines(one, paint))]),
    failed === 0 ? paint.green(summary) : paint.red(summary),
  ];
}

function callLines(tested: TestedCall, paint: Paint): readonly string[] {
  const { call, differences } = tested;
  const name = escapeText(call.name);
  if (differences.length === 0) return [`  ${paint.green('ok')}    ${name}`];
  return [
    `  ${paint.red('FAIL')}  ${name}  ${paint.dim(escapeText(call.place))}`,
    ...differences.map(({ field, expected, got }) => detail(field, `expected ${escapeText(expected)}, got ${escapeText(got)}`)),
    ...whyLines(tested).map(([field, text]) => detail(field, escapeText(text))),
  ];
}

const detail = (field: string, text: string): string => `          ${field.padEnd(10)} ${text}`;

/** Returns why the call got its decision: the reason, and each case that was looked at. */
function whyLines({ got, differences }: TestedCall): readonly (readonly [string, string])[] {
  const reason = differences.some(({ field }) => field === 'reason') ? [] : [['why', got.reason] as const];
  return [
    ...reason,
    ...got.cases.map(({ document, path, result, why, acts }) => {
      const undecided = why === undefined ? '' : ` (${why.reason}: ${why.at})`;
      return ['case', `${document} ${path} ${result}${undecided}${acts ? ', and acts' : ''}`] as const;
    }),
  ];
}

/** Returns the answer of `--json`. */
export const reportJson = (files: readonly TestedFile[]): object => ({
  ok: failedIn(files) === 0,
  count: countIn(files),
  failed: failedIn(files),
  files: files.map(({ file, calls }) => ({
    file,
    calls: calls.map(({ call: { name, place, expected }, got, differences }) => ({
      name,
      ok: differences.length === 0,
      place,
      expected,
      got: { decision: got.decision, code: got.code, reason: got.reason, transform: got.transform, limits: got.limits, cases: got.cases },
      differences,
    })),
  })),
});

/** Returns JUnit XML: a suite for each file, a case for each call. */
export function reportJunit(files: readonly TestedFile[]): string {
  const suites = files.map((one) => {
    const cases = one.calls.map((tested) => junitCase(one.file, tested));
    return `  <testsuite name=${xml(one.file)} tests="${one.calls.length}" failures="${failedIn([one])}" errors="0">\n${cases.join('')}  </testsuite>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites tests="${countIn(files)}" failures="${failedIn(files)}" errors="0">\n${suites.join('')}</testsuites>\n`;
}

function junitCase(file: string, tested: TestedCall): string {
  const { call, differences } = tested;
  const begin = `    <testcase classname=${xml(file)} name=${xml(call.name)} file=${xml(call.place)}`;
  if (differences.length === 0) return `${begin}/>\n`;
  const short = differences.map(({ field, expected, got }) => `${field}: expected ${expected}, got ${got}`).join('; ');
  const long = [call.place, ...whyLines(tested).map(([field, text]) => `${field}: ${text}`)].join('\n');
  return `${begin}>\n      <failure type="decision" message=${xml(short)}>${xmlText(long)}</failure>\n    </testcase>\n`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** Control characters have no form in XML 1.0, so that they are written as our escapes. */
const xmlText = (text: string): string =>
  text
    .split('\n')
    .map((line) => escapeText(line).replaceAll(/[&<>"]/g, (character) => entities[character] ?? character))
    .join('\n');
const xml = (text: string): string => `"${xmlText(text.replaceAll('\n', ' '))}"`;
