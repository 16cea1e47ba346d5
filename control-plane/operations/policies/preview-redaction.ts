import { parsePreview } from '../../domain/policies/redaction.ts';
import { accepted } from '../../domain/refusal.ts';
import { previewRedaction as previewOf } from '../../evaluate/preview-redaction.ts';
import { readDocument } from '../../store/policies.ts';
import { readOperation } from '../operation.ts';

/** Shows what a value becomes, by the stored settings or by a draft of them. Nothing of the value is kept or logged. */
export const previewRedaction = readOperation('redaction.preview', async ({ pool }, { workspaceId }, body: unknown) => {
  const question = accepted(parsePreview(body));
  const { redaction = (await readDocument(pool, workspaceId, { layer: 'workspace' }))?.redaction } = question;
  return previewOf(redaction, question);
});
