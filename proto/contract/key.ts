// Defines the form of a workspace key: `gsk_<slug>_<random>`. Only its SHA-256 is stored or compared.
import { hash } from 'node:crypto';
import { isSlug } from './names.ts';

const form = /^gsk_([a-z0-9-]{1,40})_([A-Za-z0-9]{32,64})$/;

/** Returns the workspace that a key names. Null: the text is not a key. */
export function parseKey(text: string): { readonly workspace: string } | null {
  const workspace = form.exec(text)?.[1];
  return workspace !== undefined && isSlug(workspace) ? { workspace } : null;
}

/** Returns SHA-256 of a key, in lower-case hex. */
export const hashKey = (key: string): string => hash('sha256', key, 'hex');
