// What an export of the chain proves, and that no change of it goes undetected.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalOf } from '../../proto/chain/canonical.ts';
import { logKeyText, originOf, parseLogKey, parseNote, signerOf } from '../../proto/chain/checkpoint.ts';
import { bytesOf, createLog, createSigner, entryOf, gapOf, type Item, noteFrom, origin, signer, verify } from './log.ts';

const keys = [signer.keyOf()];
const cases = Math.max(1_000, Math.floor(Number(process.env['TOLLGATE_TEST_CASES'] ?? 0) / 10));
const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? Date.now() % 2 ** 31);

const old = '2026-01-01T00:00:00.000Z';
const items: readonly Item[] = Array.from({ length: 30 }, (_, at): Item => {
  const n = at + 1;
  if (n % 11 === 0) return { gap: gapOf(n) };
  if (n % 7 === 0) return { retired: entryOf(n, { ts: old }) };
  return {
    entry: entryOf(n, n % 5 === 0 ? { input: { text: 'ünïcödé \u{1f642} \ufffd', big: 1e21, nested: [{ a: null, 'b"\\': [] }] } } : {}),
  };
});
const log = createLog(items);

const wordsOf = (verdict: ReturnType<typeof verify>): string => (verdict.kind === 'sound' ? 'sound' : `${verdict.kind}: ${verdict.words}`);

test('an unchanged export is sound, from any stored checkpoint to the end', () => {
  for (let size = 0; size <= log.end; size += 1) {
    for (const after of [0, size]) {
      const verdict = verify(log.exported({ after }), { kept: [log.keptAt(size)], keys });
      expect(verdict).toMatchObject({ kind: 'sound', proven: { after, upTo: 30, keptUpTo: size, signaturesChecked: true } });
    }
  }
  expect(verify(log.exported(), { keys })).toMatchObject({ proven: { entries: 24, gaps: 2, lostRecords: 10, retired: 4, keptUpTo: null } });
});

test('a checkpoint is a C2SP signed note, and other programs can build the chain', () => {
  const [one, two] = [entryOf(1), entryOf(2)];
  const short = createLog([{ entry: one }, { entry: two }]);
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  let value = sha256(`tollgate audit begin\n${origin}\n0\n`);
  for (const [at, shown] of [one, two].entries()) {
    // Sorts keys by code units at every level, as any RFC 8785 writer does.
    const sorted = (of: unknown): unknown =>
      Array.isArray(of)
        ? of.map(sorted)
        : typeof of === 'object' && of !== null
          ? Object.fromEntries(
              Object.entries(of)
                .toSorted(([a], [b]) => (a < b ? -1 : 1))
                .map(([key, inner]) => [key, sorted(inner)]),
            )
          : of;
    value = sha256(`tollgate audit entry\n${value}\n${String(shown['ts'])}\n${sha256(`${at + 1}\n${JSON.stringify(sorted(shown))}`)}\n`);
  }
  const note = short.noteAt(2);
  expect(note).toMatch(
    new RegExp(
      `^${origin}\\n2\\n${Buffer.from(value, 'hex').toString('base64').replaceAll('+', '\\+')}\\ntime .*Z\\nretention 90\\n\\n— ${origin} [\\w+/=]{92}\\n$`,
    ),
  );
});

test('canonical JSON follows RFC 8785', () => {
  const value: unknown = JSON.parse(
    '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001,-0],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false],"\\u20ac":1,"\\r":2,"1":3,"\\ud83d\\ude00":4,"\\ufb33":5,"__proto__":6}',
  );
  expect(canonicalOf(value)).toBe(
    '{"\\r":2,"1":3,"__proto__":6,"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/","€":1,"😀":4,"\ufb33":5}',
  );
  expect(canonicalOf([[[]]], 2)).toBeNull();
  // RFC 8785 has no form for this number.
  expect(canonicalOf(JSON.parse('[1e400]'))).toBeNull();
});

const edited = (change: (lines: string[]) => void): readonly string[] => {
  const lines = [...log.exported()];
  change(lines);
  return lines;
};
const kept = [log.keptAt(20)];

test.each([
  [
    'changed',
    (lines: string[]) => lines.splice(5, 1, (lines[5] ?? '').replace('"allow"', '"deny"')),
    /line 6: item 5 \(entry a{32}-5\) was changed/,
  ],
  ['dropped', (lines: string[]) => lines.splice(5, 1), /line 6: item 5 is missing before item 6/],
  ['two dropped', (lines: string[]) => lines.splice(5, 2), /line 6: items 5 to 6 are missing before item 7/],
  ['doubled', (lines: string[]) => lines.splice(5, 0, lines[5] ?? ''), /line 7: item 5 \(entry a{32}-5\) is here a second time/],
  ['swapped', (lines: string[]) => lines.splice(5, 2, lines[6] ?? '', lines[5] ?? ''), /item 5 is missing before item 6/],
  ['a gap hidden', (lines: string[]) => lines.splice(11, 1), /item 11 is missing/],
  [
    'a gap made smaller',
    (lines: string[]) => lines.splice(11, 1, (lines[11] ?? '').replace('"lastSequence":15', '"lastSequence":11')),
    /item 11 \(gap\) was changed/,
  ],
  ['renumbered', (lines: string[]) => lines.splice(5, 1, (lines[5] ?? '').replace('"n":5}', '"n":6}')), /item 5 is missing before item 6/],
  ['its end removed', (lines: string[]) => lines.splice(25), /cut off after item 24/],
  ['its end removed but for the checkpoint', (lines: string[]) => lines.splice(25, 6), /items 25 to 30 are missing at the end/],
  [
    'the newest removed, with an older checkpoint',
    (lines: string[]) => lines.splice(16, 16, JSON.stringify({ checkpoint: log.noteAt(15) })),
    /ends with item 15, and checkpoint-20 covers 20/,
  ],
  ['cut below what was kept', (lines: string[]) => lines.splice(16), /ends with item 15, and checkpoint-20 covers 20/],
  [
    'an entry made a retired one',
    (lines: string[]) => lines.splice(5, 1, (createLog([{ retired: entryOf(5) }]).exported()[1] ?? '').replace('"n":1', '"n":5')),
    /item 5 \(retired\) was changed/,
  ],
] as const)('%s: the first affected item is named', (_, change, words) => {
  expect(wordsOf(verify(edited(change), { kept, keys }))).toMatch(words);
  expect(wordsOf(verify(edited(change), { kept, keys: [] }))).toMatch(words);
});

test('a rewritten log, chain included, does not match the stored checkpoints', () => {
  const forged = createLog(items.map((item, at) => (at === 4 ? { entry: entryOf(5, { decision: 'deny' }) } : item)));
  expect(wordsOf(verify(forged.exported(), { kept: [log.keptAt(3), log.keptAt(20)], keys }))).toMatch(
    /^refused: the log was rewritten.* an item from 4 to 20 is not what it was when checkpoint-20 was made/,
  );
  expect(wordsOf(verify(forged.exported({ after: 20 }), { kept: [log.keptAt(20)], keys }))).toMatch(/rewritten before item 20/);
  // Only a verifier without stored checkpoints that trusts the signer is deceived.
  expect(verify(forged.exported(), { keys }).kind).toBe('sound');
});

test('an entry of another workspace, with its own chain, does not match', () => {
  const name = originOf('other', 'f'.repeat(32));
  const other = createLog(items, { name });
  expect(
    wordsOf(
      verify(
        edited((lines) => lines.splice(5, 1, other.exported()[5] ?? '')),
        { kept, keys },
      ),
    ),
  ).toMatch(/item 5 .* is not of this log/);
  expect(wordsOf(verify(other.exported(), { kept, keys }))).toMatch(/checkpoint-20 is of another log/);
  expect(wordsOf(verify(other.exported(), { keys }))).toMatch(/not signed by a key that you gave/);
});

test('a checkpoint with a foreign signature, or without one, is rejected', () => {
  const forger = createSigner();
  expect(wordsOf(verify(log.exported(), { kept: [log.keptAt(20, forger)], keys }))).toBe(
    'refused: checkpoint-20 is not signed by a key that you gave',
  );
  const foreign = [...log.exported().slice(0, -1), JSON.stringify({ checkpoint: log.noteAt(30, undefined, forger) })];
  expect(wordsOf(verify(foreign, { kept, keys }))).toMatch(/the checkpoint is not signed by a key that you gave/);
  const note = noteFrom(log.noteAt(20));
  expect(signerOf(note, keys)?.name).toBe(origin);
  expect(signerOf({ ...note, body: note.body.replace('\n20\n', '\n21\n') }, keys)).toBeNull();
  // Several control planes sign with their own keys.
  expect(
    verify([...log.exported().slice(0, -1), JSON.stringify({ checkpoint: log.noteAt(30, undefined, forger) })], {
      kept,
      keys: [...keys, forger.keyOf()],
    }).kind,
  ).toBe('sound');
});

test('a key and a note are read in one form only', () => {
  const text = logKeyText(origin, Buffer.alloc(32, 7));
  expect(parseLogKey(text)).not.toBeNull();
  for (const wrong of ['', `${text}=`, text.replace('+', '-'), `x${text}`, text.slice(0, -2)]) expect(parseLogKey(wrong), wrong).toBeNull();
  const note = log.noteAt(20);
  for (const wrong of [
    '',
    note.slice(0, -1),
    `${note}\n`,
    note.replace('\n20\n', '\n020\n'),
    note.replace('retention 90', 'retention 0'),
    note.replace('\n\n', '\n'),
    note.replace('— ', '- '),
  ])
    expect(parseNote(wrong), wrong).toBeNull();
});

test('what was left out as out of retention must be old enough', () => {
  const young = createLog([{ entry: entryOf(1) }, { retired: entryOf(2, { ts: '2026-04-01T00:00:00.000Z' }) }]);
  expect(wordsOf(verify(young.exported(), { keys }))).toMatch(
    /an item of 2026-04-01.* is left out as out of retention, which is 90 days: it was removed/,
  );
  expect(verify(young.exported(), { keys, retentionDays: 30 }).kind).toBe('sound');
  expect(verify(log.exported(), { keys, retentionDays: 366 }).kind).toBe('refused');
});

describe('a retention that was raised', () => {
  /**
   * Ten items, one a day from the 10th of May on. Those of the first four days were already deleted when the retention
   * was raised on the 13th of June.
   */
  const dayOf = (n: number): string => `2026-05-${String(9 + n)}T12:00:00.000Z`;
  const raised = (gone: readonly number[]) =>
    createLog(
      Array.from({ length: 10 }, (_, at) => {
        const one = entryOf(at + 1, { ts: dayOf(at + 1) });
        return gone.includes(at + 1) ? { retired: one } : { entry: one };
      }),
    );
  const honest = raised([1, 2, 3, 4]);
  const noteOf = (of: typeof honest, size: number, at: string, days: number, by = signer) => ({
    name: `${days} days`,
    note: noteFrom(of.noteAt(size, at, by, days)),
  });
  const raisedAt = '2026-06-13T09:00:00.000Z';
  const before = noteOf(honest, 10, raisedAt, 30);

  test('is proven by a checkpoint from before, and by nothing less', () => {
    expect(verify(honest.exported(), { keys, beforeRaise: [before] })).toMatchObject({
      kind: 'sound',
      proven: { retired: 4, keptUpTo: 10, retentionDays: 90, earlierRetention: [{ days: 30, until: '2026-05-14T10:00:00.000Z' }] },
    });
    expect(wordsOf(verify(honest.exported(), { keys }))).toMatch(/^refused: an item of 2026-05-13T12.*which is 90 days.*--before-raise/);
    expect(verify(honest.exported(), { keys, kept: [before] }).kind).toBe('refused');
    expect(verify(honest.exported(), { beforeRaise: [before], kept: [honest.keptAt(10)] }).kind).toBe('unusable');
  });

  test('no longer matters once the days have passed', () => {
    const verdict = verify(honest.exported({ endedAt: '2026-09-01T00:00:00.000Z' }), { keys, beforeRaise: [before] });
    expect(verdict).toMatchObject({ kind: 'sound', proven: { earlierRetention: [] } });
  });

  test.each([
    ['a day that was kept then', [1, 2, 3, 4, 5], before],
    ['what came in after that checkpoint', [1, 2, 3, 4], noteOf(honest, 3, raisedAt, 30)],
    ['what went after that checkpoint', [1, 2, 3, 4], noteOf(honest, 10, '2026-06-11T09:00:00.000Z', 30)],
  ])('does not excuse %s', (_, gone, by) => {
    expect(wordsOf(verify(raised(gone).exported(), { keys, beforeRaise: [by] }))).toMatch(/^refused: .* left out as out of retention/);
  });

  test('accepts no checkpoint with a foreign signature, or of another log', () => {
    const forged = noteOf(honest, 10, raisedAt, 30, createSigner());
    expect(wordsOf(verify(honest.exported(), { keys, beforeRaise: [forged] }))).toMatch(/^refused: 30 days is not signed by a key/);
    const other = createLog([{ entry: entryOf(1) }]);
    expect(wordsOf(verify(honest.exported(), { keys, beforeRaise: [noteOf(other, 1, raisedAt, 30)] }))).toMatch(
      /^refused: the log was rewritten/,
    );
  });

  test('is not accepted where it had been lowered for the deletion: a stored checkpoint shows the promised retention', () => {
    const promised = noteOf(honest, 10, '2026-06-12T00:00:00.000Z', 90);
    const lowered = noteOf(honest, 10, raisedAt, 1);
    const all = raised([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for (const kept of [[promised], [promised, lowered]])
      expect(verify(all.exported(), { keys, kept, beforeRaise: [lowered] }).kind).toBe('refused');
    // With only the checkpoint that was made while the retention was lowered, this log looks like an honest one.
    expect(verify(all.exported(), { keys, beforeRaise: [lowered] })).toMatchObject({ proven: { earlierRetention: [{ days: 1 }] } });
    expect(verify(all.exported(), { keys, kept: [lowered] }).kind).toBe('refused');
  });

  test('is proven separately each time that it was raised', () => {
    const twice = raised([1, 2, 3, 4, 5]);
    const first = noteOf(twice, 5, '2026-05-15T18:00:00.000Z', 1);
    const second = noteOf(twice, 10, raisedAt, 30);
    expect(verify(twice.exported(), { keys, beforeRaise: [first] }).kind).toBe('sound');
    expect(verify(raised([1, 2, 3, 4, 5, 6]).exported(), { keys, beforeRaise: [first, second] }).kind).toBe('refused');
    expect(
      verify(raised([1, 2, 3, 4]).exported(), { keys, beforeRaise: [second, noteOf(twice, 2, '2026-05-12T18:00:00.000Z', 1)] }).kind,
    ).toBe('sound');
  });

  test('covers what is before an export, and a later export does not need it', () => {
    const based = honest.exported({ after: 4, checkpoint: honest.noteAt(4, '2026-05-13T13:00:00.000Z', signer, 30) });
    expect(verify(based, { keys }).kind).toBe('refused');
    expect(verify(based, { keys, beforeRaise: [before] })).toMatchObject({ kind: 'sound', proven: { after: 4 } });
    expect(verify(based, { keys, beforeRaise: [noteOf(honest, 3, raisedAt, 30)] }).kind).toBe('refused');
    const tail = honest.exported({ after: 8 });
    expect(verify(tail, { keys, kept: [honest.keptAt(8)], beforeRaise: [noteOf(honest, 6, raisedAt, 30)] }).kind).toBe('sound');
  });
});

test('without keys the date is not proven, so a deletion called retention cannot be checked', () => {
  const gone = createLog(items.map((item, at) => (at === 3 ? { retired: entryOf(4) } : item)));
  const forged = createSigner();
  const file = [...gone.exported().slice(0, -1), JSON.stringify({ checkpoint: log.noteAt(30, '2030-01-01T00:00:00.000Z', forged) })];
  expect(wordsOf(verify(file, { kept: [log.keptAt(20)] }))).toMatch(/^unusable: items are left out as out of retention.*--public-key/);
  expect(verify(file, { kept: [log.keptAt(20)], keys }).kind).toBe('refused');
  const based = log.exported({ after: 10, checkpoint: log.noteAt(10, old, forged) });
  expect(verify(based, { kept: [log.keptAt(20)] }).kind).toBe('unusable');
  expect(verify(based, { kept: [log.keptAt(20)], keys }).kind).toBe('refused');
});

test('an export that begins later than a given checkpoint does not hide what is before', () => {
  expect(wordsOf(verify(log.exported({ after: 10 }), { kept: [log.keptAt(20)], keys }))).toMatch(
    /^unusable: the export begins after item 10: it does not contain the items before/,
  );
  expect(verify(log.exported({ after: 10 }), { keys }).kind).toBe('unusable');
  expect(verify(log.exported({ after: 10 }), { kept: [log.keptAt(20), log.keptAt(10)], keys }).kind).toBe('sound');
});

test('where everything before is out of retention, the signed checkpoint there must be that old, and keys are needed', () => {
  const from = (at: string) => log.exported({ after: 10, checkpoint: log.noteAt(10, at), endedAt: '2026-06-25T12:05:00.000Z' });
  expect(verify(from(old), { kept: [log.keptAt(5)], keys })).toMatchObject({ kind: 'sound', proven: { after: 10 } });
  expect(wordsOf(verify(from('2026-06-20T00:00:00.000Z'), { kept: [log.keptAt(5)], keys }))).toMatch(
    /out of retention, which is 90 days: it was removed/,
  );
  expect(wordsOf(verify(from(old), { kept: [log.keptAt(5)] }))).toMatch(/^unusable: .*--public-key/);
  expect(wordsOf(verify(log.exported({ after: 10 }), { kept: [log.keptAt(5)], keys }))).toMatch(
    /^unusable: .*begins after item 10, and checkpoint-5 covers 5; export again with --after checkpoint-5/,
  );
});

test('a chain that began after the log says so, and cannot begin anywhere else', () => {
  const late = createLog(items, { beginsAfter: 1_000 });
  expect(verify(late.exported(), { keys })).toMatchObject({ proven: { isBeginning: true, after: 1_000, upTo: 1_030 } });
  const [, ...rest] = late.exported();
  const begins = (after: number): string => (late.exported()[0] ?? '').replace('"after":1000', `"after":${after}`);
  for (const after of [0, 1, 999, 1_001]) expect(verify([begins(after), ...rest], { keys }).kind, String(after)).not.toBe('sound');
});

test('a file that is not an export, or has another form, cannot be verified', () => {
  for (const file of [[], [''], ['{}'], ['[]'], ['null'], [JSON.stringify(entryOf(1))], log.exported().slice(1)])
    expect(verify(file, { keys }).kind).toBe('unusable');
});

/** Any single change of a file: of bytes, of fields, of lines. */
const mutations = fc.oneof(
  fc.record({ kind: fc.constant('set' as const), at: fc.nat(), byte: fc.nat(255) }),
  fc.record({ kind: fc.constant('insert' as const), at: fc.nat(), byte: fc.oneof(fc.nat(255), fc.constantFrom(10, 13, 32, 34, 44, 48)) }),
  fc.record({ kind: fc.constant('delete' as const), at: fc.nat(), length: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 2_000 })) }),
  fc.record({ kind: fc.constant('cut' as const), at: fc.nat() }),
  fc.record({ kind: fc.constantFrom('drop' as const, 'double' as const), line: fc.nat() }),
  fc.record({ kind: fc.constantFrom('swap' as const, 'move' as const, 'copy' as const), line: fc.nat(), to: fc.nat() }),
  fc.record({ kind: fc.constant('field' as const), line: fc.nat(), pick: fc.nat(), value: fc.jsonValue() }),
);
type Mutation = typeof mutations extends fc.Arbitrary<infer M> ? M : never;

function mutate(lines: readonly string[], mutation: Mutation): Buffer {
  const bytes = bytesOf(lines);
  const copy = [...lines];
  switch (mutation.kind) {
    case 'set':
      bytes[mutation.at % bytes.length] = mutation.byte;
      return bytes;
    case 'insert': {
      const at = mutation.at % (bytes.length + 1);
      return Buffer.concat([bytes.subarray(0, at), Buffer.from([mutation.byte]), bytes.subarray(at)]);
    }
    case 'delete': {
      const at = mutation.at % bytes.length;
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + mutation.length)]);
    }
    case 'cut':
      return bytes.subarray(0, mutation.at % bytes.length);
    case 'drop':
      copy.splice(mutation.line % lines.length, 1);
      return bytesOf(copy);
    case 'double':
      copy.splice(mutation.line % lines.length, 0, lines[mutation.line % lines.length] ?? '');
      return bytesOf(copy);
    case 'swap': {
      const [a, b] = [mutation.line % lines.length, mutation.to % lines.length];
      [copy[a], copy[b]] = [copy[b] ?? '', copy[a] ?? ''];
      return bytesOf(copy);
    }
    case 'move':
    case 'copy': {
      const [line = ''] = mutation.kind === 'move' ? copy.splice(mutation.line % lines.length, 1) : [lines[mutation.line % lines.length]];
      copy.splice(mutation.to % (copy.length + 1), 0, line);
      return bytesOf(copy);
    }
    case 'field': {
      const at = mutation.line % lines.length;
      const value: unknown = JSON.parse(lines[at] ?? '');
      const places: { readonly holder: Record<string, unknown>; readonly key: string }[] = [];
      const visit = (of: unknown): void => {
        if (typeof of !== 'object' || of === null) return;
        for (const key of Object.keys(of)) {
          const holder = of as Record<string, unknown>;
          places.push({ holder, key });
          visit(holder[key]);
        }
      };
      visit(value);
      const place = places[mutation.pick % places.length];
      if (place !== undefined) place.holder[place.key] = mutation.value;
      copy[at] = canonicalOf(value) ?? '';
      return bytesOf(copy);
    }
  }
}

test('no single change of an export is accepted as sound', () => {
  const whole = log.exported();
  const original = bytesOf(whole);
  const keptAt = new Map([0, 10, 30].map((size) => [size, [log.keptAt(size)]]));
  fc.assert(
    fc.property(mutations, fc.constantFrom(0, 10, 30), (mutation, size) => {
      const file = mutate(whole, mutation);
      if (file.equals(original)) return;
      expect(verify(file, { kept: keptAt.get(size) ?? [], keys }).kind, JSON.stringify(mutation)).not.toBe('sound');
    }),
    { numRuns: cases, seed },
  );
});

test('no change of any single byte of a short export is accepted as sound', () => {
  const short = createLog([{ entry: entryOf(1) }, { gap: gapOf(2) }, { retired: entryOf(3, { ts: old }) }]);
  const original = bytesOf(short.exported());
  const keptShort = [short.keptAt(2)];
  for (let at = 0; at < original.length; at += 1) {
    const file = Buffer.from(original);
    file[at] = (file[at] ?? 0) ^ (1 << (at % 8));
    expect(verify(file, { kept: keptShort, keys }).kind, String(at)).not.toBe('sound');
  }
});
