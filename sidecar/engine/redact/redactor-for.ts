// Caches redactors by their settings: one is made for all calls and snapshots with the same settings.
import type { CompiledRedaction } from '@tollgate/proto/contract';
import { LRUCache } from 'lru-cache';
import { createRedactor, type Redactor } from './redactor.ts';

// The limit for different settings of a workspace and its tools. A control plane creates previews for many workspaces.
const redactorsMax = 200;
const redactors = new LRUCache<string, Redactor>({ max: redactorsMax });
// Caches the redactors of a snapshot, which every call needs.
const known = new WeakMap<CompiledRedaction, Map<readonly string[], Redactor>>();

/** `kept`: kinds that the call's tool keeps. */
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
