// What the console says about texts that are made to be overlooked.
import { describe, expect, test } from 'vitest';
import { odditiesIn, odditiesMax, oddIn, partsOf, visible } from '../../../console/parts/unseen.ts';

describe('texts from outside in the console', () => {
  test('each character that is not drawn, or that changes the order of others, is a part of its own', () => {
    for (const one of [
      '\u202e',
      '\u2066',
      '\u200b',
      '\u00a0',
      '\u2800',
      '\u001b',
      '\ufeff',
      '\u3164',
      '\u2028',
      '\ue000',
      '\u{e0041}',
      '\ud800',
    ])
      expect(partsOf(`a${one}b`)).toEqual([
        { text: 'a', isUnseen: false },
        { text: one, isUnseen: true },
        { text: 'b', isUnseen: false },
      ]);
    expect(partsOf('plain text, Größe, 数, שלום')).toEqual([{ text: 'plain text, Größe, 数, שלום', isUnseen: false }]);
    expect(partsOf('a\nb', '\n')).toEqual([{ text: 'a\nb', isUnseen: false }]);
    expect(visible('a\u202eb')).toBe('a⟨U+202E⟩b');
  });

  test('a word that mixes letters that look alike is named, and a word of one script is not', () => {
    expect(oddIn('раypal.com')).toHaveLength(1);
    expect(oddIn('ｐaypal')).toHaveLength(1);
    expect(oddIn('Москва и Berlin, naïve Größe')).toEqual([]);
  });

  test('a letter that looks like another one is a part of its own, and the letter of an escape of JSON mixes no word', () => {
    expect(partsOf('Harbour Pr\u0456nt')).toEqual([
      { text: 'Harbour Pr', isUnseen: false },
      { text: '\u0456', isUnseen: false, isAlike: true },
      { text: 'nt', isUnseen: false },
    ]);
    expect(partsOf('\u200bPr\u0456nt').map(({ isUnseen, isAlike = false }) => [isUnseen, isAlike])).toEqual([
      [true, false],
      [false, false],
      [false, true],
      [false, false],
    ]);
    const json = JSON.stringify({ note: '\nПривет' });
    expect(partsOf(json, '', true)).toEqual([{ text: json, isUnseen: false }]);
    expect(partsOf(String.raw`"\u200bПривет"`, '', true)).toHaveLength(1);
    expect(partsOf(JSON.stringify('Pr\u0456nt'), '', true)).toHaveLength(3);
    // A backslash of the text itself is escaped, so it hides nothing.
    expect(partsOf(JSON.stringify('\\u0061\u0440ple'), '', true)).toHaveLength(3);
  });

  test('a run of blanks that moves what follows out of sight is named', () => {
    expect(oddIn(`safe${' '.repeat(40)}; rm`)).toEqual(['a run of 40 blanks']);
    expect(oddIn(`safe${' '.repeat(39)}; rm`)).toEqual([]);
  });

  test('names and values of JSON are searched, with their places', () => {
    expect(odditiesIn({ list: ['ok', 'a\u202eb'], '\u200bname': 1 })).toEqual([
      { path: 'list[1]', what: ['1 character that changes the direction of text (U+202E)'] },
      { path: '\u200bname', what: ['1 character that cannot be seen (U+200B)'] },
    ]);
    expect(odditiesIn('<hidden by Tollgate>')).toEqual([{ path: '', what: ['a text that looks like a mark of Tollgate, and is none'] }]);
    expect(odditiesIn(Array.from({ length: 1_000 }, () => '\u202e')).length).toBe(odditiesMax + 1);
  });

  test('parts of an emoji are nothing to look at', () => {
    expect(oddIn('👩‍💻 ❤️ done')).toEqual([]);
  });
});
