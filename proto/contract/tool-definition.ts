// The digest by which a tool's definition is admitted. Control plane and sidecars compute it from what the server's own
// `tools/list` says, so that both find the same whoever asked.
import { canonicalJson, digestText } from './canonical.ts';

/**
 * SHA-256 in hex over canonical JSON of all that the server says of the tool, fields that nobody knows included: models and
 * hosts read them. But for `execution`, which servers say or leave out by the protocol's revision. Throws `NotJson` where
 * it is out of our bounds.
 */
export function toolDefinitionDigest(definition: Readonly<Record<string, unknown>>): string {
  return digestText(canonicalJson(Object.fromEntries(Object.entries(definition).filter(([field]) => field !== 'execution'))));
}
