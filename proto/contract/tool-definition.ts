// Computes the digest by which a tool's definition is admitted. Control plane and sidecars compute it from the server's
// own `tools/list`, so that both get the same result.
import { canonicalJson, digestText } from './canonical.ts';

/**
 * Returns SHA-256 in hex over canonical JSON of the whole definition, including unknown fields, because models and
 * hosts read them. The field `execution` is excluded: servers include it or not depending on the protocol's revision.
 * Throws `NotJson` if the definition is outside the bounds.
 */
export function toolDefinitionDigest(definition: Readonly<Record<string, unknown>>): string {
  return digestText(canonicalJson(Object.fromEntries(Object.entries(definition).filter(([field]) => field !== 'execution'))));
}
