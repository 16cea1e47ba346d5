// Formats one value of an answer, for a table or a line.
import { escapeText, safeJson } from './escape.ts';

/** Formats a cell: text is escaped, a list is joined, an object is JSON, null is empty. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(shown).join(', ');
  return typeof value === 'string' ? escapeText(value) : safeJson(value);
}

/** A time as `toSecond` writes it. */
export const shortForm = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}Z$/;

/** Shortens a time of the server to the second; `--json` shows all of it. */
export const toSecond = (text: string): string => text.replace(/^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})\.\d{3}Z$/, '$1 $2Z');
