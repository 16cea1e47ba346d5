// Validates every answer by the API document: its status is one that the document names for the operation, and its body
// matches the document's schema, without additional fields.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

export interface ApiOperation {
  readonly operationId: string;
  readonly method: string;
  /** In the form of the document: `/{workspace}/admin/audit`. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | null;
  readonly bodyRequired: boolean;
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>>;
  readonly security: readonly Readonly<Record<string, unknown>>[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

export type Schema = Readonly<Record<string, unknown>>;

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Record<string, unknown>>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export function readOperations(document: unknown): readonly ApiOperation[] {
  const { paths } = document as Document;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const body = operation['requestBody'] as { content: { 'application/json': { schema: Schema } }; required?: boolean } | undefined;
      return {
        operationId: String(operation['operationId']),
        method: method.toUpperCase(),
        path,
        parameters: (operation['parameters'] ?? []) as readonly Parameter[],
        body: body?.content['application/json'].schema ?? null,
        bodyRequired: body?.required === true,
        responses: operation['responses'] as ApiOperation['responses'],
        security: (operation['security'] ?? []) as ApiOperation['security'],
      };
    }),
  );
}

const readComponents = (document: unknown): ApiDocument['components'] => (document as Document).components.schemas;

export interface ApiDocument {
  readonly operations: readonly ApiOperation[];
  /** Schemas by name. */
  readonly components: Readonly<Record<string, Schema>>;
  /** Throws where the answer does not match the document. */
  check(answer: {
    readonly method: string;
    readonly url: string;
    readonly status: number;
    readonly type: string;
    readonly body: unknown;
  }): void;
  /** Throws where the event of a stream does not match the schema of its events. `data`: the parsed line. */
  checkEvent(asked: { readonly method: string; readonly url: string }, event: StreamedEvent): void;
}

export interface StreamedEvent {
  readonly event: string;
  /** Null: the event has none. */
  readonly id: string | null;
  readonly data: unknown;
}

/** The base of the document's `#` references, for the validator. */
const home = 'https://tollgate.test/openapi.json';

/** Statuses outside of any operation: unknown path, unknown method, path too long. */
const outside = new Set([404, 405, 414, 431]);

export function createApiDocument(document: unknown): ApiDocument {
  const operations = readOperations(document);
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema({ $id: home, components: { schemas: strict(readComponents(document)) } });
  const compiled = new Map<Schema, ValidateFunction>();
  const validatorOf = (schema: Schema): ValidateFunction => {
    const known = compiled.get(schema) ?? ajv.compile(strict(schema));
    compiled.set(schema, known);
    return known;
  };

  return {
    operations,
    components: readComponents(document),
    checkEvent({ method, url }, { event, id, data }) {
      const schema = operationOf(operations, method, url)?.responses['200']?.content?.['text/event-stream']?.schema;
      if (schema === undefined) throw new Error(`${method} ${url}: the document has no stream of events`);
      const validate = validatorOf(schema);
      const value = { event, ...(id === null ? {} : { id }), data };
      if (!validate(value))
        throw new Error(`${method} ${url}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value).slice(0, 2000)}`);
    },
    check({ method, url, status, type, body }) {
      const at = `${method} ${url} → ${status}`;
      const operation = operationOf(operations, method, url);
      if (operation === null) {
        if (outside.has(status)) return;
        throw new Error(`${at}: the document has no such operation`);
      }
      const response = operation.responses[String(status)];
      if (response === undefined) throw new Error(`${at}: the document names ${Object.keys(operation.responses).join(', ')}`);
      if (response.content === undefined && body === '') return;
      const content = response.content?.[type];
      if (content === undefined)
        throw new Error(`${at}: ${type || 'no type'} was answered, not ${Object.keys(response.content ?? {}).join(', ')}`);
      if (type !== 'application/json') return;
      const validate = validatorOf(content.schema);
      if (!validate(body)) throw new Error(`${at}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(body).slice(0, 2000)}`);
    },
  };
}

export function operationOf(operations: readonly ApiOperation[], method: string, url: string): ApiOperation | null {
  const path = url.split('?', 1)[0] ?? '';
  const matches = operations.filter((one) => one.method === method && formOf(one.path).test(path));
  // A path without variables is matched before one with them.
  return [...matches].sort((a, b) => a.path.split('{').length - b.path.split('{').length)[0] ?? null;
}

const forms = new Map<string, RegExp>();

function formOf(path: string): RegExp {
  const form = forms.get(path) ?? new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]*')}$`);
  forms.set(path, form);
  return form;
}

/** The schema with every object closed unless it says otherwise: clients tolerate unknown keys, the tests do not. */
function strict(schema: unknown): Schema {
  return close(schema) as Schema;
}

function close(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(close);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === '$ref' ? `${home}${String(value)}` : key === 'enum' || key === 'const' ? value : close(value),
    ]),
  );
  return 'properties' in inner && !('additionalProperties' in inner) ? { ...inner, additionalProperties: false } : inner;
}
