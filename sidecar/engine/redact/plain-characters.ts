// Converts digits of any script, and full-width letters, to the ASCII characters that they represent. Each character
// keeps its position, so positions are valid in both texts.

// The zero of each script in use. The other digits follow in order (Unicode, decimal digits of the basic plane).
const zeros = [
  0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0, 0xf20, 0x1040, 0x17e0, 0x1810, 0xff10,
];
// Characters of numbers and addresses. `：` and `（` are not included, because detectors handle them.
const wideMarks = '＠．－＋＿／';
const wideOffset = 0xfee0;

const isWide = (code: number): boolean =>
  (code >= 0xff21 && code <= 0xff3a) || (code >= 0xff41 && code <= 0xff5a) || wideMarks.includes(String.fromCharCode(code));

const plain = new Map<string, string>();
for (const zero of zeros) for (let digit = 0; digit < 10; digit++) plain.set(String.fromCharCode(zero + digit), String(digit));
for (let code = 0xff01; code <= 0xff5e; code++)
  if (isWide(code)) plain.set(String.fromCharCode(code), String.fromCharCode(code - wideOffset));

const other = new RegExp(`[${[...plain.keys()].join('')}]`, 'g');

// Most texts contain only Latin characters. For these, this fast test replaces the slower search.
const beyondLatin = /[\u0660-\uffff]/;

/** Returns the text with these characters converted. A text without such characters is returned unchanged. */
export const plainCharacters = (text: string): string =>
  beyondLatin.test(text) ? text.replace(other, (character) => plain.get(character) ?? character) : text;
