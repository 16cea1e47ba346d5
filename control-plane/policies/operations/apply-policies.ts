// Changes the policy documents to those of a set, in one transaction and at one revision. A dry run only reports what
// this would change. Both report the result of `changesOf`.
import { documentKey } from '@tollgate/proto/contract';
import { documentsIn, parsePolicySet, type WantedDocuments } from '@tollgate/sidecar/engine/compile';
import { looseningOverrides } from '../rules/overrides.ts';
import { passedCases } from '../rules/passed-cases.ts';
import { diffDocuments, type DocumentChange, shownChange } from '../rules/policy-diff.ts';
import { draftedDocuments } from '../rules/simulation.ts';
import { accepted } from '../../base/refusal.ts';
import { listDocuments, writeDocuments } from '../store/policies.ts';
import { authorship, previewOperation, effectOperation, type Write, writeOperation } from '../../access/operation.ts';
import { warningsOf } from './condition-warnings.ts';
import { readAhead } from './read-ahead.ts';
import { requireCasesFit } from './require-cases-fit.ts';
import { requireUnderstood } from './understood.ts';
import { documentBody } from './write-policy.ts';

export const applyPolicies = effectOperation('policy.apply', async (deps, actor, body: unknown, circumstances) => {
  const set: Readonly<Record<string, unknown>> = { ...documentBody(body) };
  await readAhead(documentsIn(set));
  const { dryRun, ...wanted } = accepted(parsePolicySet(set));
  return (dryRun ? preview : apply)(deps, actor, wanted, circumstances);
});

const preview = previewOperation('policy.apply', (write, wanted: WantedDocuments) => previewDocuments(write, wanted));
const apply = writeOperation('policy.apply', (write, wanted: WantedDocuments) => applyDocuments(write, wanted));

/**
 * Writes the changed documents. `wanted` must already be checked. A write that changes nothing leaves no event and no
 * revision.
 */
export async function applyDocuments(write: Write, wanted: WantedDocuments) {
  const { changes, ...said } = await changesOf(write, wanted, false);
  await requireUnderstood(
    write,
    changes.map(({ after }) => after),
  );
  await writeDocuments(
    write.client,
    write.workspaceId,
    changes.map(({ id, after }) => ({ id, document: after })),
    authorship(write),
  );
  return { ...said, kept: changes.length > 0 };
}

/** Returns the report of `applyDocuments`, but writes nothing. */
export const previewDocuments = (write: Write, wanted: WantedDocuments) => changesOf(write, wanted, true);

async function changesOf(write: Write, wanted: WantedDocuments, dryRun: boolean) {
  const { client, workspaceId } = write;
  const stored = await listDocuments(client, workspaceId);
  const changes: readonly DocumentChange[] = diffDocuments(stored, wanted);
  await requireCasesFit(write, changes);
  const overrides = looseningOverrides(draftedDocuments(stored, wanted), changes);
  const passedBy = passedCases(changes);
  return {
    changes,
    result: {
      dryRun,
      changes: changes.map(shownChange),
      ...(overrides.length > 0 ? { overrides } : {}),
      ...(await warningsOf(write, changes)),
      ...(passedBy.length > 0 ? { passedBy } : {}),
    },
    target: changes.map(({ id }) => `policy/${documentKey(id)}`),
  };
}
