// Previews the redaction of a value without a call.
import type { FastifyInstance } from 'fastify';
import { previewSchema } from '../rules/redaction-preview.ts';
import { previewRedaction } from '../operations/preview-redaction.ts';
import type { AppDeps } from '../../http/deps.ts';
import { addRoute } from '../../http/route.ts';
import { anyObject, integer, inWorkspace, listOf, object, text, texts } from '../../http/shapes.ts';

const finding = object({
  kind: text,
  count: integer,
  path: { ...text, description: 'place in the value; empty: the whole value' },
  digests: { ...texts, description: 'what `allow` takes: SHA-256 in hex, of at most 100 values' },
});

export function addRedactionRoute(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'POST',
    url: '/:workspace/admin/redact/preview',
    id: 'previewRedaction',
    tag: 'Policies',
    summary: 'Shows a value as policy redacts it',
    description: `By the section \`redaction\` of the workspace policy, or by a draft of it. Numbers begin at 1 with each request; in a run they continue
from call to call. Nothing is stored.`,
    answers: object({ value: {}, findings: listOf(finding) }),
    operation: previewRedaction,
    schema: { params: inWorkspace, body: anyObject },
    shownBody: previewSchema,
    input: ({ body }) => body,
    answer: (preview) => preview,
  });
}
