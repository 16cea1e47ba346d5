// Computes the digest by which a tool's definition is admitted. Control plane and sidecars both compute it from the
// `tools/list` answer of the server, so that they get the same result.
import { canonicalJson, digestText } from './canonical.ts';

/**
 * Returns SHA-256 in hex over canonical JSON of the definition. Unknown fields are included, because models and hosts
 * read them. Only the field `execution` is excluded, because a server includes it in some revisions of the protocol and
 * not in others. Throws `NotJson` if the definition is outside the bounds.
 */
export function toolDefinitionDigest(definition: Readonly<Record<string, unknown>>): string {
  return digestText(canonicalJson(Object.fromEntries(Object.entries(definition).filter(([field]) => field !== 'execution'))));
}

/** The hints of MCP that a definition may give about its tool in `annotations`. */
export const toolHintNames = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

/** A hint that the definition does not give is absent. */
export type ToolHints = Readonly<Partial<Record<(typeof toolHintNames)[number], boolean>>>;

/** Returns the hints that a definition gives. Null: it gives none. A hint that is no boolean is not given. */
export function toolHintsOf({ annotations }: Readonly<Record<string, unknown>>): ToolHints | null {
  if (typeof annotations !== 'object' || annotations === null) return null;
  const said = new Map<string, unknown>(Object.entries(annotations));
  const hints = toolHintNames.flatMap((name) => {
    const hint = said.get(name);
    return typeof hint === 'boolean' ? [[name, hint] as const] : [];
  });
  return hints.length === 0 ? null : Object.fromEntries(hints);
}
