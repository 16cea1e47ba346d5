// What a value becomes where policy redacts, by the same redactor that a sidecar has, and of the same JSON.
import { canonicalJson } from '@tollgate/proto/contract';
import { keptKinds } from '@tollgate/sidecar/decide';
import { createNumbers, type PlacedFinding, redactorFor } from '@tollgate/sidecar/redact';
import type { PreviewQuestion, RedactionDocument } from '../domain/policies/redaction.ts';
import { compileRedaction } from '../compile/compile.ts';

export interface Preview {
  readonly value: unknown;
  readonly findings: readonly PlacedFinding[];
}

/** Numbers begin anew: nothing is known of other values. */
export function previewRedaction(
  section: RedactionDocument | undefined,
  { value, tool }: Pick<PreviewQuestion, 'value' | 'tool'>,
): Preview {
  const redaction = compileRedaction(section);
  const kept = tool === undefined ? [] : keptKinds(redaction, tool).kinds;
  const { text, findings } = redactorFor(redaction, kept).redactJson(canonicalJson(value), createNumbers());
  return { value: JSON.parse(text), findings };
}
