// Finds where a value begins after words: `the password for the printer is …`, `パスワードは…`. It reads only a few words of
// the same sentence.
import { isWordCode } from '../../boundary.ts';
import { isBlankInLine, isWide } from './name-span.ts';
import { calledBy } from './names.ts';

// Words such as `is` that connect a name with its value, in the languages that are supported.
const connectors = new Set(
  (
    'is are was be ist lautet wäre war est es é è era to jest je är er on este là adalah ialah işte és zijn luidt são sarà será sera serait bude będzie были был это هو هي है हैं היא הוא זה זו ' +
    ': = - – — → -> => := ：'
  ).split(' '),
);
// Words that may be between a connector and the value.
const fillers = new Set(
  'now set to again still just simply currently changed reset nun jetzt ab sofort auf wie folgt ahora agora maintenant désormais simplement теперь : the same as:'.split(
    ' ',
  ),
);
const wordsMax = 6;
const wordLengthMax = 24;

/** Returns where the value begins. Null: the words do not lead to a value. */
export function valueAfterWords(text: string, at: number): number | null {
  let from = at;
  for (let count = 0; count <= wordsMax; count++) {
    const start = blanksEnd(text, from);
    const end = wordEnd(text, start);
    if (isWide(text.charCodeAt(start))) return valueAfterWideWords(text, start);
    if (start === from || end === start || end - start > wordLengthMax) return null;
    const word = text.slice(start, end);
    if (connectors.has(word) || (end - start > 1 && ':：='.includes(word.charAt(word.length - 1)))) return fillersEnd(text, end);
    if (!isPlain(word) || calledBy(word).kind !== null) return null;
    from = end;
  }
  return null;
}

/** Returns whether a word contains only letters, digits, and characters that may be within words or around them. */
function isPlain(word: string): boolean {
  for (let at = 0; at < word.length; at++) {
    const code = word.charCodeAt(at);
    const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code >= 0xc0;
    if (!isLetter && !"'/&#-()[]".includes(word.charAt(at))) return false;
  }
  return true;
}

function fillersEnd(text: string, at: number): number {
  let end = at;
  for (let count = 0; count < 3; count++) {
    const start = blanksEnd(text, end);
    const stop = wordEnd(text, start);
    if (stop === start || stop - start > wordLengthMax || !fillers.has(text.slice(start, stop).toLowerCase())) break;
    end = stop;
  }
  return blanksEnd(text, end);
}

function blanksEnd(text: string, at: number): number {
  let end = at;
  while (end < at + 4 && isBlankInLine(text.charCodeAt(end))) end += 1;
  return end;
}

function wordEnd(text: string, at: number): number {
  let end = at;
  while (end < text.length && end <= at + wordLengthMax && text.charCodeAt(end) > 32 && !isBlankInLine(text.charCodeAt(end))) end += 1;
  return end;
}

const codesOf = (characters: string): ReadonlySet<number> => new Set(characters.split('').map((one) => one.charCodeAt(0)));
// Connectors of one character. The Thai connector is separate, because it has three.
const wideConnectors = codesOf('はがを是为為成는은가이를을:：=＝');
const thaiConnector = 'คือ';
const wideBetween = codesOf(' /()_-（）');
const wideStops = codesOf('，。、；！？「」『』');
const wideLength = 12;

/** Returns where the value begins, in scripts without blanks between words. Null: the words do not lead to a value. */
export function valueAfterWideWords(text: string, at: number): number | null {
  for (let end = at; end < at + wideLength; end++) {
    const code = text.charCodeAt(end);
    if (wideConnectors.has(code)) return afterSign(text, end + 1);
    if (code === 0x0e04 && text.startsWith(thaiConnector, end)) return afterSign(text, end + thaiConnector.length);
    if (wideStops.has(code) || !(isWide(code) || isWordCode(code) || wideBetween.has(code))) return null;
  }
  return null;
}

function afterSign(text: string, at: number): number {
  let end = at;
  while (end < at + 6 && ' \t\u3000:：'.includes(text.charAt(end)) && end < text.length) end += 1;
  return end;
}
