// Verifies an export of the chain, line by line, against stored checkpoints and public keys. It needs nothing else, and
// holds only the present line in memory. Pure.
//
// States: expecting the heading; following (the number of each item must be one more than the number of the previous
// item); closed, by the checkpoint that ends every export. The first problem is the verdict, and no later line is
// checked.
import { type Checkpoint, type Kept, type LogKey, parseNote, signerOf } from './checkpoint.ts';
import { type Heading, type Line, parseLine } from './lines.ts';
import { canonicalGap, digestOf, valueAfterEntry, valueAfterGap, valueBefore } from './link.ts';
import { createOutOfRetention, type EarlierRetention, type OutOfRetention } from './out-of-retention.ts';

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
  /** The export proves the items after this number, up to and including `upTo`. */
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
  /** How long entries are kept, in days, and the earlier retentions under which items are omitted. */
  readonly retentionDays: number;
  readonly earlierRetention: readonly EarlierRetention[];
}

interface Verifier {
  /** Returns the verdict as soon as there is one. */
  take(line: Uint8Array): Verdict | null;
  /** Returns the verdict after the last line. `isTorn`: more data follows the last line, without a line end. */
  end(isTorn: boolean): Verdict;
}

const isBeginning = ({ origin, after, chain }: Heading): boolean => chain === valueBefore(origin, after);

export function createVerifier(config: VerifyConfig): Verifier {
  return new ChainVerifier(config);
}

class ChainVerifier implements Verifier {
  #anchors: readonly Kept[];
  readonly #outOfRetention: OutOfRetention;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  readonly #counts = { entries: 0, gaps: 0, lostRecords: 0, retired: 0 };
  #lines = 0;
  #heading: Heading | null = null;
  #at = 0;
  #chain = '';
  #anchored = 0;
  #last: Checkpoint | null = null;
  #earlierRetention: readonly EarlierRetention[] = [];
  readonly #beforeRaise: VerifyConfig['beforeRaise'];
  readonly #keys: VerifyConfig['keys'];
  readonly #retentionDays: VerifyConfig['retentionDays'];

  constructor({ kept, beforeRaise, keys, retentionDays }: VerifyConfig) {
    this.#beforeRaise = beforeRaise;
    this.#keys = keys;
    this.#retentionDays = retentionDays;
    const given = [...kept, ...beforeRaise];
    this.#anchors = given.toSorted((a, b) => a.note.checkpoint.size - b.note.checkpoint.size);
    this.#outOfRetention = createOutOfRetention(beforeRaise, given);
  }

  take(bytes: Uint8Array): Verdict | null {
    this.#lines += 1;
    if (this.#heading === null) return this.#begin(this.#read(bytes));
    if (this.#last !== null) return refused(`${this.#here()}: something follows the end of the export`);
    return this.#follow(this.#read(bytes));
  }

  end(isTorn: boolean): Verdict {
    if (this.#last !== null && isTorn) return refused('something follows the end of the export');
    if (this.#heading === null) return unusable('this is not an export of the chain: it is empty');
    if (this.#last === null) return this.#rolledBack() ?? refused(`the export is cut off after item ${this.#at}: it lacks its last line`);
    return this.#proven(this.#last, this.#heading);
  }

  #here(): string {
    return `line ${this.#lines}`;
  }

  #read(bytes: Uint8Array): Line | null {
    try {
      return parseLine(this.#decoder.decode(bytes));
    } catch {
      return null;
    }
  }

  #begin(line: Line | null): Verdict | null {
    if (line?.kind !== 'heading')
      return unusable(
        'this is not an export of the chain, or its first line was changed; make an export with: tollgate audit export --proof',
      );
    const { heading } = line;
    this.#heading = heading;
    this.#at = heading.after;
    this.#chain = heading.chain;
    for (const { name, note } of this.#anchors) {
      if (note.checkpoint.origin !== this.#heading.origin)
        return refused(`${name} is of another log: ${note.checkpoint.origin}; the export is of ${this.#heading.origin}`);
      if (this.#keys.length > 0 && signerOf(note, this.#keys) === null) return refused(`${name} is not signed by a key that you gave`);
    }
    // A checkpoint from before the retention was raised may end before the start of the export. It then proves nothing
    // about the export.
    const { after } = this.#heading;
    this.#anchors = this.#anchors.filter((one) => one.note.checkpoint.size >= after || !this.#beforeRaise.includes(one));
    return this.#checkBase(this.#heading) ?? this.#checkAnchors();
  }

  /** Checks that no item is hidden before the first one. */
  #checkBase(line: Heading): Verdict | null {
    const { after, checkpoint } = line;
    if (checkpoint !== '') return this.#checkSignedBase(checkpoint);
    const [oldest] = this.#anchors;
    if (isBeginning(line)) return null;
    if (after === 0) return refused('the first line was changed: a chain cannot begin like this');
    if (oldest !== undefined && oldest.note.checkpoint.size < after)
      return unusable(
        `the export begins after item ${after}, and ${oldest.name} covers ${oldest.note.checkpoint.size}; export again with --after ${oldest.name}`,
      );
    // Without this check, items at the start could be removed, and an export that begins after them would look valid.
    if (oldest?.note.checkpoint.size !== after)
      return unusable(
        `the export begins after item ${after}: it does not contain the items before, and no checkpoint that you gave ends there; export again without --after`,
      );
    return null;
  }

  #checkSignedBase(text: string): Verdict | null {
    const note = parseNote(text);
    const signed = note?.checkpoint;
    if (
      note === null ||
      signed === undefined ||
      signed.size !== this.#at ||
      signed.chain !== this.#chain ||
      signed.origin !== this.#heading?.origin
    )
      return refused('the first line was changed: its checkpoint does not end where the export begins');
    if (this.#keys.length > 0 && signerOf(note, this.#keys) === null)
      return refused('the checkpoint in the first line is not signed by a key that you gave');
    if (this.#keys.length === 0 && this.#anchors.some((one) => one.note.checkpoint.size < this.#at))
      return unusable(`what ${this.#anchors[0]?.name} covers is out of retention in part; with --public-key the rest can be checked`);
    this.#outOfRetention.leftOut(this.#at, signed.madeAt);
    // Items before the start are missing, so earlier checkpoints cannot be compared.
    while ((this.#anchors[this.#anchored]?.note.checkpoint.size ?? this.#at) < this.#at) this.#anchored += 1;
    return null;
  }

  #checkAnchors(): Verdict | null {
    for (
      let next = this.#anchors[this.#anchored];
      next !== undefined && next.note.checkpoint.size <= this.#at;
      next = this.#anchors[++this.#anchored]
    ) {
      if (next.note.checkpoint.size < this.#at)
        return refused(`the export holds no item ${next.note.checkpoint.size}, which ${next.name} ends with`);
      if (next.note.checkpoint.chain !== this.#chain) return refused(this.#rewritten(next));
    }
    return null;
  }

  #rewritten({ name, note }: Kept): string {
    const before = this.#anchors[this.#anchored - 1]?.note.checkpoint.size ?? this.#heading?.after ?? 0;
    const { size } = note.checkpoint;
    if (size === this.#heading?.after) return `the log was rewritten before item ${size}: ${name} has another value there`;
    return `the log was rewritten, and its chain was computed again: an item from ${before + 1} to ${size} is not what it was when ${name} was made`;
  }

  #follow(line: Line | null): Verdict | null {
    const n = this.#at + 1;
    if (line === null) return refused(`${this.#here()}, where item ${n} should be, does not have the form of an export: it was changed`);
    if (line.kind === 'heading') return refused(`${this.#here()}: a second heading`);
    if (line.kind === 'checkpoint') return this.#close(line.note);
    const name = line.kind === 'entry' ? `item ${line.n} (entry ${line.id})` : `item ${line.n} (${line.kind})`;
    if (line.n < n) return refused(`${this.#here()}: ${name} is here a second time, or was moved; ${n} should be here`);
    if (line.n > n)
      return refused(`${this.#here()}: ${line.n === n + 1 ? `item ${n} is` : `items ${n} to ${line.n - 1} are`} missing before ${name}`);
    const value = this.#valueAfter(line);
    if (value !== line.chain) return refused(`${this.#here()}: ${name} was changed, or is not of this log`);
    this.#chain = value;
    this.#at = n;
    return this.#checkAnchors();
  }

  #valueAfter(line: Extract<Line, { readonly n: number }>): string {
    switch (line.kind) {
      case 'entry':
        this.#counts.entries += 1;
        return valueAfterEntry(this.#chain, line.ts, digestOf(line.n, line.canonical));
      case 'gap':
        this.#counts.gaps += 1;
        this.#counts.lostRecords += line.gap.lastSequence - line.gap.firstSequence + 1;
        return valueAfterGap(this.#chain, line.gap.receivedAt, digestOf(line.n, canonicalGap(line.gap)));
      case 'retired':
        this.#counts.retired += 1;
        this.#outOfRetention.leftOut(line.n, line.retired.ts);
        return valueAfterEntry(this.#chain, line.retired.ts, line.retired.digest);
    }
  }

  #close(text: string): Verdict | null {
    const note = parseNote(text);
    if (note === null) return refused(`${this.#here()}: the checkpoint that ends the export was changed`);
    const { origin, size, chain: value } = note.checkpoint;
    if (origin !== this.#heading?.origin) return refused(`${this.#here()}: the checkpoint is of another log: ${origin}`);
    if (this.#keys.length > 0 && signerOf(note, this.#keys) === null)
      return refused(`${this.#here()}: the checkpoint is not signed by a key that you gave`);
    if (size > this.#at)
      return refused(`${size === this.#at + 1 ? `item ${size} is` : `items ${this.#at + 1} to ${size} are`} missing at the end`);
    if (size < this.#at) return refused(`${this.#here()}: the checkpoint covers ${size} items, and ${this.#at} are here`);
    if (value !== this.#chain)
      return refused(
        `the log was rewritten, and its chain was computed again: an item up to ${size} is not what it was when its checkpoint was made`,
      );
    this.#last = note.checkpoint;
    return this.#rolledBack() ?? this.#checkRetention(note.checkpoint);
  }

  #rolledBack(): Verdict | null {
    const beyond = this.#anchors[this.#anchored];
    if (beyond === undefined) return null;
    return refused(
      `the log ends with item ${this.#at}, and ${beyond.name} covers ${beyond.note.checkpoint.size}: items at its end were removed`,
    );
  }

  #checkRetention(checkpoint: Checkpoint): Verdict | null {
    if (!this.#outOfRetention.isAny) return null;
    const days = this.#retentionDays ?? checkpoint.retentionDays;
    const judged = this.#outOfRetention.judge(checkpoint, days);
    if ('tooYoung' in judged)
      return refused(
        `an item of ${judged.tooYoung} is left out as out of retention, which is ${days} days: it was removed, ` +
          'or it went out of retention before retention was raised; for that case, give the last checkpoint from before the raise with --before-raise',
      );
    // Without verified signatures, the author of the file could have invented the time and the retention of the
    // checkpoint.
    if (this.#keys.length === 0) return unusable('items are left out as out of retention; this can be checked only with --public-key');
    this.#earlierRetention = judged.earlier;
    return null;
  }

  #proven(checkpoint: Checkpoint, line: Heading): Verdict {
    const { origin, after } = line;
    const keptUpTo = this.#anchors.at(-1)?.note.checkpoint.size ?? null;
    const signaturesChecked = this.#keys.length > 0;
    const retention = { retentionDays: this.#retentionDays ?? checkpoint.retentionDays, earlierRetention: this.#earlierRetention };
    return {
      kind: 'sound',
      proven: {
        origin,
        isBeginning: isBeginning(line),
        after,
        upTo: this.#at,
        ...this.#counts,
        keptUpTo,
        signaturesChecked,
        checkpoint,
        ...retention,
      },
    };
  }
}

const refused = (words: string): Verdict => ({ kind: 'refused', words });

const unusable = (words: string): Verdict => ({ kind: 'unusable', words });
