// Digits of any script, and letters as wide as ideographs, as the ASCII characters they stand for. Each stays where it
// stood, so that a place in one text is the same place in the other.

// Of each script in use, its zero; the other digits follow in order (Unicode, decimal digits of the basic plane).
const zeros = [
  0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0, 0xf20, 0x1040, 0x17e0, 0x1810, 0xff10,
];
// What stands in numbers and addresses, and no `：` or `（`, which detectors know themselves.
const wideMarks = '＠．－＋＿／';
const wideOffset = 0xfee0;

const isWide = (code: number): boolean =>
  (code >= 0xff21 && code <= 0xff3a) || (code >= 0xff41 && code <= 0xff5a) || wideMarks.includes(String.fromCharCode(code));

const plain = new Map<string, string>();
for (const zero of zeros) for (let digit = 0; digit < 10; digit++) plain.set(String.fromCharCode(zero + digit), String(digit));
for (let code = 0xff01; code <= 0xff5e; code++)
  if (isWide(code)) plain.set(String.fromCharCode(code), String.fromCharCode(code - wideOffset));

const other = new RegExp(`[${[...plain.keys()].join('')}]`, 'g');

// Most texts hold nothing beyond Latin, and that is seen sooner.
const beyondLatin = /[\u0660-\uffff]/;

/** The same text for a text that has none of them. */
export const plainCharacters = (text: string): string =>
  beyondLatin.test(text) ? text.replace(other, (character) => plain.get(character) ?? character) : text;
