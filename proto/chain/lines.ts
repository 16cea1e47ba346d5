// Writes and parses the lines of an export of the chain: one line for each item, one line before them and one after
// them. Each line is canonical JSON. An export therefore has only one form, and any changed byte is detected. Pure. The
// export writes the lines, and the verifier reads them.
import { canonicalOf } from './canonical.ts';
import type { ShownGap } from './link.ts';

/** The first line: names the log and the start of the export. */
export interface Heading {
  readonly format: typeof format;
  readonly origin: string;
  /** The number of items before the first item of this export. */
  readonly after: number;
  /** The chain's value before the first item of this export. */
  readonly chain: string;
  /**
   * The checkpoint that ends where this export begins. It is empty if any item before the export is still in retention.
   */
  readonly checkpoint: string;
}

export const format = 'tollgate audit chain v1';

/**
 * The data that an export contains in place of an entry that is out of retention. The chain needs this data, because
 * items before the entry are still kept.
 */
interface Retired {
  readonly ts: string;
  readonly digest: string;
}

interface Item {
  readonly n: number;
  /** The chain's value after this item. */
  readonly chain: string;
}

export type Line =
  | { readonly kind: 'heading'; readonly heading: Heading }
  | (Item & { readonly kind: 'entry'; readonly id: string; readonly ts: string; readonly canonical: string })
  | (Item & { readonly kind: 'gap'; readonly gap: ShownGap })
  | (Item & { readonly kind: 'retired'; readonly retired: Retired })
  | { readonly kind: 'checkpoint'; readonly note: string };

/** `canonical`: canonical JSON of the entry, in the form in which every answer shows it. */
export const entryLine = ({ n, chain }: Item, canonical: string): string => `{"chain":"${chain}","entry":${canonical},"n":${n}}`;
export const gapLine = ({ n, chain }: Item, canonical: string): string => `{"chain":"${chain}","gap":${canonical},"n":${n}}`;
export const retiredLine = ({ n, chain }: Item, { ts, digest }: Retired): string =>
  `{"chain":"${chain}","n":${n},"retired":{"digest":"${digest}","ts":"${ts}"}}`;
export const headingLine = (heading: Heading): string => canonicalOf(heading) ?? '';
export const checkpointLine = (note: string): string => canonicalOf({ checkpoint: note }) ?? '';

/** More than the depth of any entry. */
const depthMax = 128;

/** Parses a line. Null: the text is not a valid line of an export. */
export function parseLine(text: string): Line | null {
  const value = parse(text);
  if (!isFields(value) || canonicalOf(value, depthMax) !== text) return null;
  const keys = Object.keys(value).toSorted().join();
  if (keys === 'after,chain,checkpoint,format,origin') return headingFrom(value);
  if (keys === 'checkpoint') return isText(value['checkpoint']) ? { kind: 'checkpoint', note: value['checkpoint'] } : null;
  const { n, chain } = value;
  if (!isCount(n) || !isHash(chain)) return null;
  const item = { n, chain };
  switch (keys) {
    case 'chain,entry,n':
      return entryFrom(value['entry'], item, text);
    case 'chain,gap,n':
      return gapFrom(value['gap'], item);
    case 'chain,n,retired':
      return retiredFrom(value['retired'], item);
    default:
      return null;
  }
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isHash = (value: unknown): value is string => isText(value) && /^[0-9a-f]{64}$/.test(value);
const isTime = (value: unknown): value is string => isText(value) && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value);

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function headingFrom({ format: claimed, origin, after, chain, checkpoint }: Fields): Line | null {
  if (claimed !== format || !isText(origin) || !isCount(after) || !isHash(chain) || !isText(checkpoint)) return null;
  return { kind: 'heading', heading: { format, origin, after, chain, checkpoint } };
}

function entryFrom(entry: unknown, item: Item, text: string): Line | null {
  if (!isFields(entry) || !isText(entry['id']) || !isTime(entry['ts'])) return null;
  const blank = entryLine(item, '');
  const before = blank.indexOf(',"n":');
  // The line is canonical, so the entry inside it is canonical too.
  return { ...item, kind: 'entry', id: entry['id'], ts: entry['ts'], canonical: text.slice(before, text.length - blank.length + before) };
}

function gapFrom(gap: unknown, item: Item): Line | null {
  if (!isFields(gap)) return null;
  const { spoolId, firstSequence, lastSequence, reason, receivedAt } = gap;
  if (!isText(spoolId) || !isCount(firstSequence) || !isCount(lastSequence) || !isText(reason) || !isTime(receivedAt)) return null;
  if (Object.keys(gap).length !== 5) return null;
  return { ...item, kind: 'gap', gap: { spoolId, firstSequence, lastSequence, reason, receivedAt } };
}

function retiredFrom(retired: unknown, item: Item): Line | null {
  if (!isFields(retired) || Object.keys(retired).length !== 2) return null;
  const { ts, digest } = retired;
  return isTime(ts) && isHash(digest) ? { ...item, kind: 'retired', retired: { ts, digest } } : null;
}
