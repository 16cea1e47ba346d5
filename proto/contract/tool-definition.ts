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
