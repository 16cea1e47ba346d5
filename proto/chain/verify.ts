// Verifies an export of the chain, line by line, against stored checkpoints and public keys. It needs nothing else, and
// holds only the present line in memory. Pure.
//
// States: expecting the heading; following (each item must be the one after the last); closed, by the checkpoint that
// ends every export. The first problem is the verdict, and no later line is checked.
import { type Checkpoint, type Kept, type LogKey, parseNote, signerOf } from './checkpoint.ts';
import { type Heading, type Line, parseLine } from './lines.ts';
import { canonicalGap, digestOf, valueAfterEntry, valueAfterGap, valueBefore } from './link.ts';
import { createOutOfRetention, type EarlierRetention } from './out-of-retention.ts';

export interface VerifyConfig {
  readonly kept: readonly Kept[];
  /** Checkpoints from before the retention was raised. Items that were out of retention at that time can be missing. */
  readonly beforeRaise: readonly Kept[];
  /** Empty: signatures cannot be verified. */
  readonly keys: readonly LogKey[];
  /** Replaces the retention that the log's checkpoints state. */
  readonly retentionDays: number | null;
}

export type Verdict =
  | { readonly kind: 'sound'; readonly proven: Proven }
  /** An item was changed, or the checkpoints are not of this log. */
  | { readonly kind: 'refused'; readonly words: string }
  /** The input is not sufficient for a verdict. */
  | { readonly kind: 'unusable'; readonly words: string };

export interface Proven {
  readonly origin: string;
  /** The chain begins with this export. There is no proof for items from before the chain. */
  readonly isBeginning: boolean;
  /** The items after this number, up to and including `upTo`. */
  readonly after: number;
  readonly upTo: number;
  readonly entries: number;
  readonly gaps: number;
  readonly lostRecords: number;
  readonly retired: number;
  /**
   * Up to this item, the log is the same as when the newest of the stored checkpoints was made; null if no checkpoint
   * was given.
   */
  readonly keptUpTo: number | null;
  readonly signaturesChecked: boolean;
  readonly checkpoint: Checkpoint;
  /** How long entries are kept, and the earlier retention under which items are omitted. */
  readonly retentionDays: number;
  readonly earlierRetention: readonly EarlierRetention[];
}

interface Verifier {
  /** Returns the verdict as soon as there is one. */
  take(line: Uint8Array): Verdict | null;
  /** Call after the last line. `isTorn`: the data after it has no line end. */
  end(isTorn: boolean): Verdict;
}

const isBeginning = ({ origin, after, chain }: Heading): boolean => chain === valueBefore(origin, after);

export function createVerifier({ kept, beforeRaise, keys, retentionDays }: VerifyConfig): Verifier {
  const given = [...kept, ...beforeRaise];
  let anchors = given.toSorted((a, b) => a.note.checkpoint.size - b.note.checkpoint.size);
  const outOfRetention = createOutOfRetention(beforeRaise, given);
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const counts = { entries: 0, gaps: 0, lostRecords: 0, retired: 0 };
  let lines = 0;
  let heading: Heading | null = null;
  let at = 0;
  let chain = '';
  let anchored = 0;
  let last: Checkpoint | null = null;
  let earlierRetention: readonly EarlierRetention[] = [];

  const refused = (words: string): Verdict => ({ kind: 'refused', words });
  const unusable = (words: string): Verdict => ({ kind: 'unusable', words });
  const here = (): string => `line ${lines}`;

  function read(bytes: Uint8Array): Line | null {
    try {
      return parseLine(decoder.decode(bytes));
    } catch {
      return null;
    }
  }

  function begin(line: Line | null): Verdict | null {
    if (line?.kind !== 'heading')
      return unusable(
        'this is not an export of the chain, or its first line was changed; make an export with: tollgate audit export --proof',
      );
    ({ heading } = line);
    ({ after: at, chain } = heading);
    for (const { name, note } of anchors) {
      if (note.checkpoint.origin !== heading.origin)
        return refused(`${name} is of another log: ${note.checkpoint.origin}; the export is of ${heading.origin}`);
      if (keys.length > 0 && signerOf(note, keys) === null) return refused(`${name} is not signed by a key that you gave`);
    }
    // Checkpoints from before the retention was raised that end before the start of the export prove nothing about it.
    const { after } = heading;
    anchors = anchors.filter((one) => one.note.checkpoint.size >= after || !beforeRaise.includes(one));
    return checkBase(heading) ?? checkAnchors();
  }

  /** Checks that no item is hidden before the first one. */
  function checkBase(line: Heading): Verdict | null {
    const { after, checkpoint } = line;
    if (checkpoint !== '') return checkSignedBase(checkpoint);
    const [oldest] = anchors;
    if (isBeginning(line)) return null;
    if (after === 0) return refused('the first line was changed: a chain cannot begin like this');
    if (oldest !== undefined && oldest.note.checkpoint.size < after)
      return unusable(
        `the export begins after item ${after}, and ${oldest.name} covers ${oldest.note.checkpoint.size}; export again with --after ${oldest.name}`,
      );
    // Otherwise, after a removal of items at the start, an export that begins later would look valid.
    if (oldest?.note.checkpoint.size !== after)
      return unusable(
        `the export begins after item ${after}: it does not contain the items before, and no checkpoint that you gave ends there; export again without --after`,
      );
    return null;
  }

  function checkSignedBase(text: string): Verdict | null {
    const note = parseNote(text);
    const signed = note?.checkpoint;
    if (note === null || signed === undefined || signed.size !== at || signed.chain !== chain || signed.origin !== heading?.origin)
      return refused('the first line was changed: its checkpoint does not end where the export begins');
    if (keys.length > 0 && signerOf(note, keys) === null)
      return refused('the checkpoint in the first line is not signed by a key that you gave');
    if (keys.length === 0 && anchors.some((one) => one.note.checkpoint.size < at))
      return unusable(`what ${anchors[0]?.name} covers is out of retention in part; with --public-key the rest can be checked`);
    outOfRetention.leftOut(at, signed.madeAt);
    // Items before the start are missing, so earlier checkpoints cannot be compared.
    while ((anchors[anchored]?.note.checkpoint.size ?? at) < at) anchored += 1;
    return null;
  }

  function checkAnchors(): Verdict | null {
    for (let next = anchors[anchored]; next !== undefined && next.note.checkpoint.size <= at; next = anchors[++anchored]) {
      if (next.note.checkpoint.size < at)
        return refused(`the export holds no item ${next.note.checkpoint.size}, which ${next.name} ends with`);
      if (next.note.checkpoint.chain !== chain) return refused(rewritten(next));
    }
    return null;
  }

  function rewritten({ name, note }: Kept): string {
    const before = anchors[anchored - 1]?.note.checkpoint.size ?? heading?.after ?? 0;
    const { size } = note.checkpoint;
    if (size === heading?.after) return `the log was rewritten before item ${size}: ${name} has another value there`;
    return `the log was rewritten, and its chain was computed again: an item from ${before + 1} to ${size} is not what it was when ${name} was made`;
  }

  function follow(line: Line | null): Verdict | null {
    const n = at + 1;
    if (line === null) return refused(`${here()}, where item ${n} should be, does not have the form of an export: it was changed`);
    if (line.kind === 'heading') return refused(`${here()}: a second heading`);
    if (line.kind === 'checkpoint') return close(line.note);
    const name = line.kind === 'entry' ? `item ${line.n} (entry ${line.id})` : `item ${line.n} (${line.kind})`;
    if (line.n < n) return refused(`${here()}: ${name} is here a second time, or was moved; ${n} should be here`);
    if (line.n > n)
      return refused(`${here()}: ${line.n === n + 1 ? `item ${n} is` : `items ${n} to ${line.n - 1} are`} missing before ${name}`);
    const value = valueAfter(line);
    if (value !== line.chain) return refused(`${here()}: ${name} was changed, or is not of this log`);
    chain = value;
    at = n;
    return checkAnchors();
  }

  function valueAfter(line: Extract<Line, { readonly n: number }>): string {
    switch (line.kind) {
      case 'entry':
        counts.entries += 1;
        return valueAfterEntry(chain, line.ts, digestOf(line.n, line.canonical));
      case 'gap':
        counts.gaps += 1;
        counts.lostRecords += line.gap.lastSequence - line.gap.firstSequence + 1;
        return valueAfterGap(chain, line.gap.receivedAt, digestOf(line.n, canonicalGap(line.gap)));
      case 'retired':
        counts.retired += 1;
        outOfRetention.leftOut(line.n, line.retired.ts);
        return valueAfterEntry(chain, line.retired.ts, line.retired.digest);
    }
  }

  function close(text: string): Verdict | null {
    const note = parseNote(text);
    if (note === null) return refused(`${here()}: the checkpoint that ends the export was changed`);
    const { origin, size, chain: value } = note.checkpoint;
    if (origin !== heading?.origin) return refused(`${here()}: the checkpoint is of another log: ${origin}`);
    if (keys.length > 0 && signerOf(note, keys) === null) return refused(`${here()}: the checkpoint is not signed by a key that you gave`);
    if (size > at) return refused(`${size === at + 1 ? `item ${size} is` : `items ${at + 1} to ${size} are`} missing at the end`);
    if (size < at) return refused(`${here()}: the checkpoint covers ${size} items, and ${at} are here`);
    if (value !== chain)
      return refused(
        `the log was rewritten, and its chain was computed again: an item up to ${size} is not what it was when its checkpoint was made`,
      );
    last = note.checkpoint;
    return rolledBack() ?? checkRetention(note.checkpoint);
  }

  function rolledBack(): Verdict | null {
    const beyond = anchors[anchored];
    if (beyond === undefined) return null;
    return refused(`the log ends with item ${at}, and ${beyond.name} covers ${beyond.note.checkpoint.size}: items at its end were removed`);
  }

  function checkRetention(checkpoint: Checkpoint): Verdict | null {
    if (!outOfRetention.isAny) return null;
    const days = retentionDays ?? checkpoint.retentionDays;
    const judged = outOfRetention.judge(checkpoint, days);
    if ('tooYoung' in judged)
      return refused(
        `an item of ${judged.tooYoung} is left out as out of retention, which is ${days} days: it was removed, ` +
          'or it went out of retention before retention was raised; for that case, give the last checkpoint from before the raise with --before-raise',
      );
    // Without signatures, the day and the retention are only the claim of the author of the file.
    if (keys.length === 0) return unusable('items are left out as out of retention; this can be checked only with --public-key');
    earlierRetention = judged.earlier;
    return null;
  }

  function proven(checkpoint: Checkpoint, line: Heading): Verdict {
    const { origin, after } = line;
    const keptUpTo = anchors.at(-1)?.note.checkpoint.size ?? null;
    const signaturesChecked = keys.length > 0;
    const retention = { retentionDays: retentionDays ?? checkpoint.retentionDays, earlierRetention };
    return {
      kind: 'sound',
      proven: { origin, isBeginning: isBeginning(line), after, upTo: at, ...counts, keptUpTo, signaturesChecked, checkpoint, ...retention },
    };
  }

  return {
    take(bytes) {
      lines += 1;
      if (heading === null) return begin(read(bytes));
      if (last !== null) return refused(`${here()}: something follows the end of the export`);
      return follow(read(bytes));
    },
    end(isTorn) {
      if (last !== null && isTorn) return refused('something follows the end of the export');
      if (heading === null) return unusable('this is not an export of the chain: it is empty');
      if (last === null) return rolledBack() ?? refused(`the export is cut off after item ${at}: it lacks its last line`);
      return proven(last, heading);
    },
  };
}
