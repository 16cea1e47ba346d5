// Makes the policy documents as a set says, in one transaction and at one revision, or says what that would change.
import { documentKey } from '@tollgate/proto/contract';
import { looseningOverrides } from '../../domain/policies/overrides.ts';
import { diffDocuments, shownChange } from '../../domain/policies/policy-diff.ts';
import { parsePolicySet, type WantedDocuments } from '../../domain/policies/policy-set.ts';
import { accepted } from '../../domain/refusal.ts';
import { listDocuments, listOverridingDocuments, writeDocuments } from '../../store/policies.ts';
import { type Write, writeOperation } from '../operation.ts';
import { authorship, documentBody } from './write-policy.ts';

export const applyPolicies = writeOperation('policy.apply', async (write, body: unknown) => {
  const { dryRun, ...wanted } = accepted(parsePolicySet({ ...documentBody(body) }));
  return applyDocuments(write, wanted, dryRun);
});

/** `wanted` has been checked. A write that changes nothing, like a dry run, leaves no trace. */
export async function applyDocuments(write: Write, wanted: WantedDocuments, dryRun: boolean) {
  const { client, workspaceId } = write;
  const changes = diffDocuments(await listDocuments(client, workspaceId), wanted);
  await writeDocuments(
    client,
    workspaceId,
    changes.map(({ id, after }) => ({ id, document: after })),
    authorship(write),
  );
  const overrides = looseningOverrides(await listOverridingDocuments(client, workspaceId), changes);
  return {
    result: { dryRun, changes: changes.map(shownChange), ...(overrides.length > 0 ? { overrides } : {}) },
    target: changes.map(({ id }) => `policy/${documentKey(id)}`),
    kept: !dryRun && changes.length > 0,
  };
}
