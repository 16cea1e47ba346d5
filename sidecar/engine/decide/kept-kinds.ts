// Finds the kinds that are not redacted in the calls of a tool, even if policy requires redaction of these calls. Only
// one exception applies: the one that matches the tool's name most closely. The order is the same as for rules:
// `exceptions[tool]`, then the wildcards that match the beginning of the name, longest first. Pure.
import { type CompiledRedaction, keyedPath, wildcardPrefix } from '@tollgate/proto/contract';

export interface Kept {
  /** For example `redaction.exceptions["crm.*"]`, in the workspace document. Null: no exception matches the tool. */
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
  /** Exceptions of wildcards, by the prefix without the `*`. */
  readonly wildcards: ReadonlyMap<string, Kept>;
}

// For each settings object, the index of its exceptions. A settings object never changes. Every call needs this index,
// and there may be a thousand exceptions.
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
