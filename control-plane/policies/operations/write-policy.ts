// Sets and removes the documents of the workspace, of roles and of agent types. The whole document is checked in the
// form in which it would be stored. An invalid document is not stored, not even in part.
import { type DocumentId, documentKey, type Role } from '@tollgate/proto/contract';
import { checkDocument, type PolicyDocument } from '@tollgate/sidecar/engine/compile';
import { mergePatch } from '../rules/merge.ts';
import { looseningOverrides, needsBroader, tightens } from '../rules/overrides.ts';
import { passedCases } from '../rules/passed-cases.ts';
import type { DocumentChange } from '../rules/policy-diff.ts';
import { invalid, refuseIfAny } from '../../base/refusal.ts';
import { isObject } from '@tollgate/proto/shape';
import { deleteDocument, listDocuments, listOverridingDocuments, readDocument, writeDocument } from '../store/policies.ts';
import { authorship, type Write, writeOperation } from '../../access/operation.ts';
import { warningsOf } from './condition-warnings.ts';
import { readingAhead } from './read-ahead.ts';
import { requireCasesFit } from './require-cases-fit.ts';
import { requireUnderstood } from './understood.ts';

/** Checks only that the body is an object. `checkDocument` does the rest of the checks. */
export function documentBody(body: unknown): PolicyDocument {
  if (!isObject(body)) throw invalid([{ path: 'body', message: 'must be an object' }]);
  return body;
}

type PolicyId = Exclude<DocumentId, { layer: 'user' }>;

/**
 * For the answer to a write: the exceptions that still loosen what the write made stricter, the cases that the written
 * document does not reach for some tools, and warnings about its cases.
 */
export async function noticesOf(write: Pick<Write, 'client' | 'workspaceId' | 'now'>, change: DocumentChange) {
  const passedBy = passedCases([change]);
  const overrides = await overridesLeft(write, change);
  return { ...overrides, ...(passedBy.length > 0 ? { passedBy } : {}), ...(await warningsOf(write, [change])) };
}

async function overridesLeft({ client, workspaceId }: Pick<Write, 'client' | 'workspaceId'>, change: DocumentChange) {
  if (!tightens(change)) return {};
  const documents = await (needsBroader([change]) ? listDocuments(client, workspaceId) : listOverridingDocuments(client, workspaceId));
  const overrides = looseningOverrides(documents, [change]);
  return overrides.length > 0 ? { overrides } : {};
}

async function store(write: Write, id: PolicyId, before: PolicyDocument | null, document: unknown) {
  const { client, workspaceId } = write;
  const after = documentBody(document);
  refuseIfAny(checkDocument(id.layer, 'organisation', after));
  await requireUnderstood(write, [after]);
  await requireCasesFit(write, [{ before, after }]);
  await writeDocument(client, workspaceId, { id, document: after }, authorship(write));
  return { result: await noticesOf(write, { id, before, after }), target: `policy/${documentKey(id)}` };
}

/** Merges a patch into the document (RFC 7396): fields that are sent are changed; `null` removes a field. */
async function merge(write: Write, id: PolicyId, patch: unknown) {
  const before = await readDocument(write.client, write.workspaceId, id);
  return store(write, id, before, mergePatch(before ?? {}, documentBody(patch)));
}

/** Replaces the whole document, or creates it. */
async function replace(write: Write, id: PolicyId, document: unknown) {
  return store(write, id, await readDocument(write.client, write.workspaceId, id), document);
}

async function remove(write: Write, id: PolicyId) {
  const before = await readDocument(write.client, write.workspaceId, id);
  await deleteDocument(write.client, write.workspaceId, id, authorship(write));
  return { result: await noticesOf(write, { id, before, after: null }), target: `policy/${documentKey(id)}` };
}

/** The document that a write names, and the new content. */
interface PolicyChange<N> {
  readonly name: N;
  readonly body: unknown;
}

export const putWorkspacePolicy = readingAhead(
  writeOperation('workspace-policy.write', (write, { body }: PolicyChange<undefined>) => merge(write, { layer: 'workspace' }, body)),
);
export const deleteWorkspacePolicy = writeOperation('workspace-policy.delete', (write) => remove(write, { layer: 'workspace' }));

export const putRolePolicy = readingAhead(
  writeOperation('role-policy.write', (write, { name, body }: PolicyChange<Role>) => merge(write, { layer: 'role', role: name }, body)),
);
export const deleteRolePolicy = writeOperation('role-policy.delete', (write, role: Role) => remove(write, { layer: 'role', role }));

export const putAgentTypePolicy = readingAhead(
  writeOperation('agent-type-policy.write', (write, { name, body }: PolicyChange<string>) =>
    replace(write, { layer: 'agent-type', agentType: name }, body),
  ),
);
export const deleteAgentTypePolicy = writeOperation('agent-type-policy.delete', (write, key: string) =>
  remove(write, { layer: 'agent-type', agentType: key }),
);
