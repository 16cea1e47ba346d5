// Caches redactors by their settings: one is made for all calls and snapshots with the same settings.
import type { CompiledRedaction } from '@tollgate/proto/contract';
import { LRUCache } from 'lru-cache';
import { createRedactor, type Redactor } from './redactor.ts';

// The maximum number of cached redactors. One is needed for each different setting of a workspace and its tools, and a
// control plane creates previews for many workspaces.
const redactorsMax = 200;
const redactors = new LRUCache<string, Redactor>({ max: redactorsMax });
// Caches the redactors of a snapshot, which every call needs.
const known = new WeakMap<CompiledRedaction, Map<readonly string[], Redactor>>();

/** Returns the redactor for one call. `kept`: the kinds that are not redacted for the tool of the call. */
export function redactorFor(redaction: CompiledRedaction, kept: readonly string[]): Redactor {
  const ofSettings = known.get(redaction) ?? new Map<readonly string[], Redactor>();
  known.set(redaction, ofSettings);
  const redactor = ofSettings.get(kept) ?? equalRedactor(redaction, kept);
  if (ofSettings.size < redactorsMax) ofSettings.set(kept, redactor);
  return redactor;
}

function equalRedactor({ off, patterns, allow }: CompiledRedaction, kept: readonly string[]): Redactor {
  const key = JSON.stringify([off, patterns, allow, kept]);
  const equal = redactors.get(key) ?? createRedactor({ off, patterns, allow }, kept);
  redactors.set(key, equal);
  return equal;
}
