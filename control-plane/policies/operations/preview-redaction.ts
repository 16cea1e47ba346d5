import { parsePreview } from '../rules/redaction-preview.ts';
import { accepted } from '../../base/refusal.ts';
import { previewRedaction as previewOf } from '../evaluate/preview-redaction.ts';
import { readDocument } from '../store/policies.ts';
import { readOperation } from '../../access/operation.ts';

/**
 * Shows how redaction changes a value, with the stored settings or with a draft of them. The value is not stored or
 * logged.
 */
export const previewRedaction = readOperation('redaction.preview', async ({ pool }, { workspaceId }, body: unknown) => {
  const question = accepted(parsePreview(body));
  const { redaction = (await readDocument(pool, workspaceId, { layer: 'workspace' }))?.redaction } = question;
  return previewOf(redaction, question);
});
