// Writes and deletes the policy document of a user. It has two parts with two authors. Owners and admins always write
// `organisation`, also about themselves. A member writes `self`, and only values that are at least as strict as those
// of the organisation in the same place. A write of a member that changes nothing leaves no history, because history is
// permanent and any member can write.
import { isDeepStrictEqual } from 'node:util';
import { type DocumentId, documentKey, type Part } from '@tollgate/proto/contract';
import { checkDocument, indexOf, type PolicyDocument } from '@tollgate/sidecar/engine/compile';
import { isLead, requireAccessTo } from '../../access/rules/access.ts';
import type { Actor } from '../../access/rules/actor.ts';
import { mergePatch } from '../rules/merge.ts';
import { loosestDocument } from '../rules/places.ts';
import { looserPlaces } from '../rules/self-edit.ts';
import { mergedUserView, stripParts, stripUnchanged } from '../rules/user-policy.ts';
import { looser, refuseIfAny } from '../../base/refusal.ts';
import { deleteDocument, writeDocument } from '../store/policies.ts';
import { collectWorkspaceState } from '../../workspaces/store/workspace-state.ts';
import { authorship, type Write, writeOperation } from '../../access/operation.ts';
import { readUserParts } from './read-policies.ts';
import { readingAhead } from './read-ahead.ts';
import { requireCasesFit } from './require-cases-fit.ts';
import { requireUnderstood } from './understood.ts';
import { documentBody, noticesOf } from './write-policy.ts';

interface UserPolicyChange {
  /** The member's uid. */
  readonly name: string;
  readonly body: unknown;
}

const partOf = (actor: Actor): Part => (isLead(actor.role) ? 'organisation' : 'self');

export const putUserPolicy = readingAhead(
  writeOperation('user-policy.write', async (write, { name: uid, body }: UserPolicyChange) => {
    const { client, actor, workspaceId } = write;
    requireAccessTo(actor, 'user-policy.write', uid);
    const parts = await readUserParts(client, workspaceId, uid);
    const part = partOf(actor);
    const view = mergedUserView(parts.organisation, parts.self);
    const written = stripParts(view, documentBody(body));
    // A value that an admin sends is stored as the admin's own, even if the member has set the same value. A document
    // that was read and sent back whole, with its `parts`, also contains values that its sender did not write. Those
    // values are not stored again.
    const sentBack = written !== body;
    const patch = sentBack ? stripUnchanged(view, null, written) : part === 'self' ? stripUnchanged(view, parts[part], written) : written;
    const after = documentBody(mergePatch(parts[part] ?? {}, patch));
    refuseIfAny(checkDocument('user', part, after));
    if (part === 'self') await refuseLooser(write, uid, parts.self, after);
    await requireUnderstood(write, [after]);
    await requireCasesFit(write, [{ before: parts[part], after }]);
    const id: DocumentId = { layer: 'user', uid, part };
    const target = `policy/${documentKey(id)}`;
    if (part === 'self' && isDeepStrictEqual(parts.self, after)) return { result: {}, target, kept: false };
    await writeDocument(client, workspaceId, { id, document: after }, authorship(write));
    return { result: await noticesOf(write, { id, before: parts[part], after }), target };
  }),
);

async function refuseLooser(
  { client, workspaceId, deps }: Write,
  uid: string,
  before: PolicyDocument | null,
  after: PolicyDocument,
): Promise<void> {
  const state = await collectWorkspaceState(client, workspaceId);
  const documents = state.documents.map(({ id, document }) => ({ id, document: loosestDocument(document) }));
  const index = indexOf({ ...state, documents }, deps.defaults);
  const places = looserPlaces({ index, uid, before, after });
  if (places.length > 0) throw looser(places);
}

/** A member's delete removes what the member wrote. A delete of an owner or admin removes both parts. */
export const deleteUserPolicy = writeOperation('user-policy.delete', async (write, uid: string) => {
  const { client, actor, workspaceId } = write;
  requireAccessTo(actor, 'user-policy.delete', uid);
  const reached: readonly Part[] = isLead(actor.role) ? ['organisation', 'self'] : ['self'];
  const parts = await readUserParts(client, workspaceId, uid);
  let kept = isLead(actor.role);
  for (const part of reached) {
    const removed = await deleteDocument(client, workspaceId, { layer: 'user', uid, part }, authorship(write));
    kept ||= removed;
  }
  // A member's own part neither creates nor ends an exception. Therefore only the organisation's part is compared.
  const id: DocumentId = { layer: 'user', uid, part: 'organisation' };
  const result = isLead(actor.role) ? await noticesOf(write, { id, before: parts.organisation, after: null }) : {};
  return { result, target: reached.map((part) => `policy/${documentKey({ layer: 'user', uid, part })}`), kept };
});
