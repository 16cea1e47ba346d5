// Shows how policy redacts a value. It uses the same redactor as a sidecar, on the same JSON.
import { canonicalJson } from '@tollgate/proto/contract';
import { compileRedaction, keptKinds, type RedactionDocument } from '@tollgate/sidecar/engine/compile';
import { createNumbers, type PlacedFinding, redactorFor } from '@tollgate/sidecar/engine/redact';
import type { PreviewQuestion } from '../rules/redaction-preview.ts';

export interface Preview {
  readonly value: unknown;
  readonly findings: readonly PlacedFinding[];
}

/**
 * Returns the redacted value and the findings. The numbers of redacted values start from the beginning, because the
 * other values of a session are not known.
 */
export function previewRedaction(
  section: RedactionDocument | undefined,
  { value, tool }: Pick<PreviewQuestion, 'value' | 'tool'>,
): Preview {
  const redaction = compileRedaction(section);
  const kept = tool === undefined ? [] : keptKinds(redaction, tool).kinds;
  const { text, findings } = redactorFor(redaction, kept).redactJson(canonicalJson(value), createNumbers());
  return { value: JSON.parse(text), findings };
}
