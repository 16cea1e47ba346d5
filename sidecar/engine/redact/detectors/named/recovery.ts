// Finds data for account recovery: the words of a wallet's seed, and recovery codes.
import type { Detector } from '../../detector.ts';
import { after } from './value-span.ts';

// BIP-39: 12, 15, 18, 21 or 24 words of 3 to 8 letters, possibly numbered.
const wordsMin = 12;
const wordsMax = 24;
const lead = /(?:[ \t"'`:=*_\\>-]|is|are|was|lautet|\r?\n|\\n){1,12}/y;
const word = /[a-z]{3,8}(?![A-Za-z])/y;
const gap = /(?:[ \t]|,|\r?\n|\\n){1,3}(?:\d{1,2}[.)][ \t]?)?/y;
const number = /1[.)][ \t]?/y;
// Common words of sentences that are not among the 2048 words of BIP-39.
const isOfSentence = (one: string): boolean =>
  /^(?:the|and|are|for|from|your|has|was|were|not|but|its|our|their|them|into|which|been|must|should|would|could|these|those|never|does|with|words?|phrases?|mnemonics?)$/.test(
    one,
  );

export const seedPhrase: Detector = {
  kind: 'secret',
  anchors: [
    'seed phrase',
    'seed_phrase',
    'seedphrase',
    'seed words',
    'recovery phrase',
    'backup phrase',
    'mnemonic',
    'seed-phrase',
    'frase semilla',
    'phrase de récupération',
  ],
  reach: { before: 0, after: 360 },
  find: (text, _at, end, found) => {
    const begin = after(lead, text, end);
    if (begin === end && !/[\uff1a\u306f\u662f]/.test(text.charAt(end))) return;
    const start = after(number, text, begin === end ? end + 1 : begin);
    let stop = start;
    let count = 0;
    for (let at = start; count < wordsMax; ) {
      const next = after(word, text, at);
      if (next === at || isOfSentence(text.slice(at, next))) break;
      count += 1;
      stop = next;
      at = after(gap, text, next);
      if (at === next) break;
    }
    if (count >= wordsMin && count % 3 === 0) found(start, stop);
  },
};

const listLead = /(?:[ \t]{0,2}\([^()\n]{0,40}\))?[ \t]{0,2}(?::|：)?[ \t]{0,4}/y;
const between = /(?:[ \t]|,|;|\||\r?\n|\\n|[-*•][ \t]|\d{1,2}[.)][ \t]){1,8}/y;
const code = /[A-Za-z0-9]{4,10}(?:-[A-Za-z0-9]{4,10}){1,4}(?![\w-])|\d{4}[ ]\d{4}(?!\d)|[a-z0-9]{8,12}(?![\w-])|\d{6,8}(?!\d)/y;
const codesMax = 24;

export const recoveryCodes: Detector = {
  kind: 'secret',
  anchors: [
    'recovery codes',
    'backup codes',
    'scratch codes',
    'recovery-codes',
    'wiederherstellungscodes',
    'codes de secours',
    'codes de récupération',
    'códigos de recuperación',
    'códigos de recuperação',
    'códigos de respaldo',
  ],
  reach: { before: 0, after: 640 },
  find: (text, _at, end, found) => {
    const begin = after(listLead, text, end);
    let at = after(between, text, begin);
    // If the codes begin on the same line as the words that announce them, a colon must precede the codes.
    if (at === begin && !':：'.includes(text.slice(end, begin).trim().slice(-1) || 'x')) return;
    for (let count = 0; count < codesMax; count++) {
      const stop = after(code, text, at);
      if (stop === at || !/\d/.test(text.slice(at, stop)) || /^\d{4}-\d{2}/.test(text.slice(at, stop))) return;
      found(at, stop);
      const next = after(between, text, stop);
      if (next === stop) return;
      at = next;
    }
  },
};
