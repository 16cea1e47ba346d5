// Reads `If-Match`: the write succeeds only while its target is unchanged since the given revision. Every answer names
// a revision: writes in `revision`, reads in `ETag`.
import { badRequest } from '../base/refusal.ts';

const form = /^("?)(\d{1,15})\1$/;

/** Returns the revision in the header, or null when the header is absent. */
export function conditionOf(header: string | undefined): number | null {
  if (header === undefined) return null;
  const revision = form.exec(header.trim())?.[2];
  if (revision === undefined) throw badRequest('If-Match must be one revision: the `revision` of an answer or its ETag');
  return Number(revision);
}
