// Encodes and decodes values of `Mcp-Name` and `Mcp-Param-*`: plain if a header can contain them, otherwise Base64
// between markers.
const prefix = '=?base64?';
const suffix = '?=';
const canonicalBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const plainValue = /^[!-~](?:[\t -~]*[!-~])?$/;

export function encodeHeaderValue(value: string): string {
  const marked = value.startsWith(prefix) && value.endsWith(suffix);
  return plainValue.test(value) && !marked ? value : `${prefix}${Buffer.from(value).toString('base64')}${suffix}`;
}

/**
 * Returns the decoded value. Null: the text between the markers is not Base64 of UTF-8, or the value is not allowed in
 * a header.
 */
export function decodeHeaderValue(value: string): string | null {
  if (!(value.startsWith(prefix) && value.endsWith(suffix) && value.length >= prefix.length + suffix.length))
    return value === '' || plainValue.test(value) ? value : null;
  const base64 = value.slice(prefix.length, -suffix.length);
  if (!canonicalBase64.test(base64)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    return null;
  }
}

/** A value of `arguments` that a header repeats. */
export interface ParamHeader {
  /** The text after `Mcp-Param-`, as the tool's schema spells it. */
  readonly name: string;
  /** Keys that lead from `arguments` to the value. */
  readonly path: readonly string[];
  /** True: the schema says that the value is a number. Numbers are compared by value. */
  readonly isNumber: boolean;
}

/**
 * Returns the text of a value for its header, before encoding. Null: there is no value, or it is not a text, number or
 * boolean.
 */
export function paramText(args: unknown, path: readonly string[]): string | null {
  let value = args;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return null;
    value = Reflect.get(value, key);
  }
  if (typeof value === 'string') return value;
  return typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)) ? String(value) : null;
}

const decimal = /^-?\d+(?:\.\d+)?$/;

export const sameParam = ({ isNumber }: ParamHeader, header: string, body: string): boolean =>
  header === body || (isNumber && decimal.test(header) && Number(header) === Number(body));

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const depthMax = 32;
const headersMax = 100;
/** The maximum length of all paths of a tool together. Each step counts as one additional character. */
const pathsLengthMax = 1_000;

/**
 * Returns the arguments that a tool's schema wants in headers. The schema marks them with `x-mcp-header`, and only
 * `properties` are searched, as the protocol defines. Null: the paths exceed the limit.
 */
export function paramHeadersOf(inputSchema: unknown): readonly ParamHeader[] | null {
  const found: ParamHeader[] = [];
  let pathsLength = 0;
  const visit = (schema: unknown, path: readonly string[]): void => {
    if (typeof schema !== 'object' || schema === null || path.length > depthMax || found.length >= headersMax) return;
    const name: unknown = Reflect.get(schema, 'x-mcp-header');
    const type: unknown = Reflect.get(schema, 'type');
    if (typeof name === 'string' && token.test(name) && path.length > 0) {
      found.push({ name, path, isNumber: type === 'integer' || type === 'number' });
      pathsLength += path.reduce((sum, key) => sum + key.length + 1, 0);
    }
    const properties: unknown = Reflect.get(schema, 'properties');
    if (typeof properties !== 'object' || properties === null) return;
    for (const [key, property] of Object.entries(properties)) visit(property, [...path, key]);
  };
  visit(inputSchema, []);
  return pathsLength > pathsLengthMax ? null : found;
}
