// Parses the number of items that a checkpoint covers, from a query string.
import { badRequest } from '../../base/refusal.ts';

export function sizeFrom(name: string, text: string): number {
  if (!/^(?:0|[1-9]\d{0,14})$/.test(text)) throw badRequest(`${name} must be the size of a checkpoint, an integer`);
  return Number(text);
}
