// The refusals of this program, with their messages. The contract defines the codes.
import { AppError } from '@tollgate/proto/contract';
import type { Checked, Problem } from '@tollgate/proto/shape';

/** Returns the value, or throws a refusal with every problem. */
export function accepted<T>(checked: Checked<T>): T {
  if ('problems' in checked) throw invalid(checked.problems);
  return checked.value;
}

export function refuseIfAny(problems: readonly Problem[]): void {
  if (problems.length > 0) throw invalid(problems);
}

/** A request can contain 90,000 mistakes, each as long as the request. These limits keep the answer readable. */
const shownMax = { lines: 100, line: 500, message: 400 } as const;

/** Returns the first lines, and how many more there are. */
export const shownLines = (lines: readonly string[]): readonly string[] => [
  ...lines.slice(0, shownMax.lines).map((line) => cut(line, shownMax.line)),
  ...(lines.length > shownMax.lines ? [`and ${lines.length - shownMax.lines} more`] : []),
];

/** Returns the line of a problem. If it is too long, the path is cut before the message. */
function lineOf({ path, message }: Problem): string {
  const said = cut(message, shownMax.message);
  return `${cut(path, shownMax.line - 1 - said.length)} ${said}`;
}

const cut = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max - 1)}…`);

/** Returns a refusal that names every problem with its place. */
export const invalid = (problems: readonly Problem[]): AppError => placed('bad_request', problems);

/**
 * Returns a refusal of a write that would weaken a stricter setting of a higher authority. The refusal names the
 * places.
 */
export const looser = (problems: readonly Problem[]): AppError => placed('forbidden', problems);

export const badRequest = (publicMessage: string): AppError => new AppError({ code: 'bad_request', publicMessage });
export const forbidden = (publicMessage: string): AppError => new AppError({ code: 'forbidden', publicMessage });
export const notFound = (publicMessage: string): AppError => new AppError({ code: 'not_found', publicMessage });
export const conflict = (publicMessage: string): AppError => new AppError({ code: 'conflict', publicMessage });
export const unauthenticated = (publicMessage: string): AppError => new AppError({ code: 'unauthenticated', publicMessage });

function placed(code: 'bad_request' | 'forbidden', problems: readonly Problem[]): AppError {
  const details = shownLines(problems.map(lineOf));
  return new AppError({ code, publicMessage: details.join('; '), details });
}
