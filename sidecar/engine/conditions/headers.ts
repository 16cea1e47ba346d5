// Finds out which headers a condition reads. The input of an HTTP request contains only the headers that conditions name,
// as `args.headers.name` or `args.headers["name"]`, and never a credential.
import type { Expression } from '@tollgate/proto/contract';

/**
 * Returns the names of the headers that a condition reads. Null: it reads the headers in another way, for example in a
 * loop, so no list of names is all that it reads.
 */
export function headersReadBy(expression: Expression): readonly string[] | null {
  const names = new Set<string>();
  return collect(expression, names) ? [...names] : null;
}

/** Adds the headers that the expression names. Returns false if it reads headers in another way. */
function collect(expression: Expression, names: Set<string>): boolean {
  if (isArgs(expression) || isHeaders(expression)) return false;
  const named = headerNamed(expression);
  if (named !== null) {
    names.add(named);
    return true;
  }
  if (readsPartOfArgs(expression)) return true;
  const parts: readonly unknown[] = expression;
  return parts.every((part) => !Array.isArray(part) || collect(part as unknown as Expression, names));
}

const isArgs = (expression: Expression | undefined): boolean => expression?.[0] === 'var' && expression[1] === 'args';

const isHeaders = (expression: Expression | undefined): boolean =>
  expression !== undefined && keyOf(expression) === 'headers' && isArgs(operandOf(expression));

/** The header that `args.headers.name`, `has(args.headers.name)` or `"name" in args.headers` is about. */
function headerNamed(expression: Expression): string | null {
  if (expression[0] === 'has') return isHeaders(expression[1]) ? expression[2] : null;
  if (expression[0] === 'call' && expression[1] === 'in') return isHeaders(expression[3]) ? textOf(expression[2]) : null;
  return isHeaders(operandOf(expression)) ? keyOf(expression) : null;
}

/** Whether the expression reads one part of the input other than its headers, or whether a part is there. */
function readsPartOfArgs(expression: Expression): boolean {
  if (expression[0] === 'has') return isArgs(expression[1]);
  if (expression[0] === 'call' && expression[1] === 'in') return isArgs(expression[3]) && textOf(expression[2]) !== null;
  return isArgs(operandOf(expression)) && keyOf(expression) !== null;
}

/** The key of `operand.key` or `operand["key"]`. */
function keyOf(expression: Expression): string | null {
  if (expression[0] === 'field') return expression[2];
  return expression[0] === 'call' && expression[1] === 'index' ? textOf(expression[3]) : null;
}

/** The operand of `operand.key` or `operand["key"]`. */
function operandOf(expression: Expression): Expression | undefined {
  if (expression[0] === 'field') return expression[1];
  return expression[0] === 'call' && expression[1] === 'index' ? expression[2] : undefined;
}

const textOf = (expression: Expression | undefined): string | null => (expression?.[0] === 'string' ? expression[1] : null);

/** In lower case, as the input names them. */
const headerName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
// The caller's key, session or signature, and what the caller says to Tollgate about itself.
const credential =
  /^(?:authorization|proxy-authorization|cookie2?|x-tollgate-.*|.*(?:^|[-_])(?:api[-_]?key|auth|token|secret|password|credentials?|signature|jwt))$/;

/** Whether the input of an HTTP request may contain the header. */
export const isShownHeader = (name: string): boolean => headerName.test(name) && !credential.test(name.replaceAll('_', '-'));
