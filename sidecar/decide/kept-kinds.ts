// Which kinds a tool's calls keep when the rest is redacted: the one exception that is nearest to the tool's name, as
// for rules: `exceptions[tool]`, then the wildcards that begin it, longest first. Pure.
import { type CompiledRedaction, keyedPath, wildcardPrefix } from '@tollgate/proto/contract';

export interface Kept {
  /** `redaction.exceptions["crm.*"]`, of the workspace document; null: there is none for the tool. */
  readonly path: string | null;
  readonly kinds: readonly string[];
}

const nothing: Kept = { path: null, kinds: [] };

export function keptKinds(redaction: CompiledRedaction, tool: string): Kept {
  if (redaction.exceptions.length === 0) return nothing;
  const { exact, wildcards } = indexedOnce(redaction);
  const named = exact.get(tool);
  if (named !== undefined || wildcards.size === 0) return named ?? nothing;
  for (let end = tool.length; end > 0; end--) {
    const found = wildcards.get(tool.slice(0, end));
    if (found !== undefined) return found;
  }
  return nothing;
}

interface IndexedExceptions {
  readonly exact: ReadonlyMap<string, Kept>;
  /** By prefix, the `*` taken off. */
  readonly wildcards: ReadonlyMap<string, Kept>;
}

// By the settings object itself, which never changes: every call asks, and there may be a thousand exceptions.
const indexed = new WeakMap<CompiledRedaction, IndexedExceptions>();

function indexedOnce(redaction: CompiledRedaction): IndexedExceptions {
  const known = indexed.get(redaction);
  if (known !== undefined) return known;
  const exact = new Map<string, Kept>();
  const wildcards = new Map<string, Kept>();
  for (const [key, kinds] of redaction.exceptions) {
    const kept = { path: keyedPath('redaction.exceptions', key), kinds };
    exact.set(key, kept);
    const prefix = wildcardPrefix(key);
    if (prefix !== null) wildcards.set(prefix, kept);
  }
  const made = { exact, wildcards };
  indexed.set(redaction, made);
  return made;
}
