// Checks that sidecars and control planes understand what a write needs. Connected sidecars can be too old for it. If
// the write is forced, they deny calls that depend on what they do not understand. Control planes of the same database
// must understand it in any case.
import { needsOfRule, needsOfSettings, type Needs } from '@tollgate/proto/contract';
import type { PolicyDocument, TierRulesDocument } from '@tollgate/sidecar/engine/compile';
import { conflict } from '../../base/refusal.ts';
import { lockStart, raiseNeeds } from '../../database/deployment.ts';
import { countLackingInstances } from '../../runs/store/run-instances.ts';
import { listLackingSidecars } from '../../sidecars/store.ts';
import type { Write } from '../../access/operation.ts';

type CapabilityCheck = Pick<Write, 'client' | 'workspaceId' | 'force'> & { readonly deps: Pick<Write['deps'], 'needs'> };

/** How long a control plane without a heartbeat still counts as live. */
const silenceMs = 30_000;
const namesMax = 10;

/**
 * Capabilities that only control planes need. Each key is a field of a document, and this field is not sent to
 * sidecars.
 */
const ownNeeds: Readonly<Record<string, string>> = { agentCeiling: 'agent-ceiling' };

/**
 * Throws a conflict if the documents are not understood. Otherwise it records in the database which capabilities are
 * needed from now on.
 */
export async function requireUnderstood(
  { client, workspaceId, force, deps }: CapabilityCheck,
  documents: readonly (PolicyDocument | null)[],
): Promise<void> {
  const written = documents.filter((document) => document !== null);
  const ofSidecars = unique(written.flatMap((document) => needsOfDocument(document, deps.needs)));
  const needs = unique([
    ...ofSidecars,
    ...written.flatMap((document) =>
      Object.keys(document).flatMap((field) => (Object.hasOwn(ownNeeds, field) ? (ownNeeds[field] ?? []) : [])),
    ),
  ]);
  if (needs.length === 0) return;
  const what = `this policy needs ${needs.join(', ')}`;
  // A control plane that starts at the same time waits for this lock, and then sees the new needs.
  await lockStart(client);
  const instances = await countLackingInstances(client, needs, silenceMs);
  if (instances > 0)
    throw conflict(`${what}, which ${instances} control ${instances === 1 ? 'plane lacks' : 'planes lack'}; upgrade all of them first`);
  if (!force && ofSidecars.length > 0) {
    const sidecars = await listLackingSidecars(client, workspaceId, ofSidecars);
    if (sidecars.length > 0)
      throw conflict(
        `${what}, which sidecars lack: ${shown(sidecars)}; upgrade them, or set force=true: they then deny the calls of such rules`,
      );
  }
  await raiseNeeds(client, needs);
}

const unique = (names: readonly string[]): readonly string[] => [...new Set(names)].toSorted();

function shown(names: readonly string[]): string {
  const more = names.length - namesMax;
  return more > 0 ? `${names.slice(0, namesMax).join(', ')} and ${more} more` : names.join(', ');
}

function needsOfDocument(document: PolicyDocument, needs: Needs): readonly string[] {
  const { defaults = {}, tools = {}, agentTypes = {} } = document;
  const places: readonly TierRulesDocument[] = [defaults, ...Object.values(tools), ...Object.values(agentTypes)];
  const ofRules = places.flatMap((rules) => Object.values(rules).flatMap((rule) => needsOfRule(rule, needs)));
  return [...ofRules, ...needsOfSettings(document, needs)];
}
