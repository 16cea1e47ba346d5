// `If-Match`: a write that holds only while what it changes is as it was at a revision. Every answer names one: writes
// in `revision`, reads in `ETag`.
import { badRequest } from '../domain/refusal.ts';

const form = /^("?)(\d{1,15})\1$/;

/** The revision of the header; null without one. */
export function conditionOf(header: string | undefined): number | null {
  if (header === undefined) return null;
  const revision = form.exec(header.trim())?.[2];
  if (revision === undefined) throw badRequest('If-Match must be one revision: the `revision` of an answer or its ETag');
  return Number(revision);
}
