// Parses the input of a redaction preview. The input can contain a draft of the section `redaction`.
import { bounds, canonicalJson, nameProblem, NotJson } from '@tollgate/proto/contract';
import { type RedactionDocument, redactionSection } from '@tollgate/sidecar/engine/compile';
import { type Checked, described, isObject, problem, type Problem, record, type Shape, text } from '@tollgate/proto/shape';

export interface PreviewQuestion {
  readonly value: unknown;
  /** The tool whose exceptions apply; absent: no exceptions. */
  readonly tool?: string;
  /** A draft of the section `redaction`; absent: the stored section is used. */
  readonly redaction?: RedactionDocument;
}

const anything: Shape = {
  check: (value, path) => {
    try {
      canonicalJson(value);
      return [];
    } catch (error) {
      if (error instanceof NotJson) return problem(path, error.message);
      throw error;
    }
  },
  schema: { description: 'a text, or any JSON' },
};
const preview = record(
  {
    value: anything,
    tool: described('tool whose exceptions apply', text(bounds.nameLength, nameProblem)),
    redaction: described('a draft of the section of that name; absent: as stored', redactionSection),
  },
  ['value'],
);
export const previewSchema = preview.schema;

export function parsePreview(body: unknown): Checked<PreviewQuestion> {
  const problems: readonly Problem[] = preview.check(body, '');
  if (problems.length > 0 || !isPreview(body)) return { problems };
  return { value: body };
}

/** `preview` has checked the body. */
const isPreview = (body: unknown): body is PreviewQuestion => isObject(body);
