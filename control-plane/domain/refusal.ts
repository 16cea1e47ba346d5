// The refusals of this program, in words. Codes are the contract's.
import { AppError } from '@tollgate/proto/contract';
import type { Problem } from './shape.ts';

/** What a check of something from outside found. */
export type Checked<T> = { readonly value: T } | { readonly problems: readonly Problem[] };

/** The value, or a refusal with every problem. */
export function accepted<T>(checked: Checked<T>): T {
  if ('problems' in checked) throw invalid(checked.problems);
  return checked.value;
}

export function refuseIfAny(problems: readonly Problem[]): void {
  if (problems.length > 0) throw invalid(problems);
}

const lineOf = ({ path, message }: Problem): string => `${path} ${message}`;

/** Every problem with its place. */
export const invalid = (problems: readonly Problem[]): AppError => placed('bad_request', problems);

/** A write that would weaken what somebody above has set: the places. */
export const looser = (problems: readonly Problem[]): AppError => placed('forbidden', problems);

export const badRequest = (publicMessage: string): AppError => new AppError({ code: 'bad_request', publicMessage });
export const forbidden = (publicMessage: string): AppError => new AppError({ code: 'forbidden', publicMessage });
export const notFound = (publicMessage: string): AppError => new AppError({ code: 'not_found', publicMessage });
export const conflict = (publicMessage: string): AppError => new AppError({ code: 'conflict', publicMessage });
export const unauthenticated = (publicMessage: string): AppError => new AppError({ code: 'unauthenticated', publicMessage });

function placed(code: 'bad_request' | 'forbidden', problems: readonly Problem[]): AppError {
  const details = problems.map(lineOf);
  return new AppError({ code, publicMessage: details.join('; '), details });
}
