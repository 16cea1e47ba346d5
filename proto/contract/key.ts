// The form of a workspace key: `gsk_<slug>_<random>`. Only its SHA-256 is ever stored or compared.
import { hash } from 'node:crypto';
import { isSlug } from './names.ts';

const form = /^gsk_([a-z0-9-]{1,40})_([A-Za-z0-9]{32,64})$/;

/** The workspace a key names, or null when the text is no key. */
export function parseKey(text: string): { readonly workspace: string } | null {
  const workspace = form.exec(text)?.[1];
  return workspace !== undefined && isSlug(workspace) ? { workspace } : null;
}

/** SHA-256 of a key, in lower-case hex. */
export const hashKey = (key: string): string => hash('sha256', key, 'hex');
