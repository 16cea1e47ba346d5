// Defines the national ids of Europe, in the order of the country codes: their written forms and their checks.
import isTaxID from 'validator/lib/isTaxID.js';
import { isDay, isLuhn, remainder, weighted, weightedLetters } from '../checksums.ts';
import type { NationalId } from './form.ts';

/**
 * Returns the check of the package `validator` for the tax numbers of a country. It is used where the rules are long.
 */
const taxId =
  (locale: string) =>
  (compact: string): boolean =>
    isTaxID.default(compact, locale);

/**
 * Returns whether the six digits from `from` on are a date. `shifts`: the month may have an offset that encodes sex or
 * century.
 */
function hasDay(digits: string, order: 'ymd' | 'dmy', shifts: readonly number[] = [0], from = 0): boolean {
  const day = order === 'ymd' ? digits.slice(from + 4, from + 6) : digits.slice(from, from + 2);
  return shifts.some((shift) => isDay(String(Number(digits.slice(from + 2, from + 4)) - shift), day));
}

/** Checks the check digit of ISO 7064, MOD 11,10. */
function isMod1110(digits: string): boolean {
  let rest = 10;
  for (const digit of digits.slice(0, -1)) rest = (((rest + Number(digit)) % 10 || 10) * 2) % 11;
  return (11 - rest) % 10 === Number(digits.at(-1));
}

/**
 * Returns a check: the weighted sum modulo 11 must equal the last digit. `ten`: the digit for a remainder of ten, or -1
 * if such a number is invalid.
 */
const isMod11 =
  (weights: readonly number[], ten = 0) =>
  (digits: string): boolean => {
    const rest = weighted(digits, weights) % 11;
    return (rest === 10 ? ten : rest) === Number(digits.at(-1));
  };

/** Estonia and Lithuania: if the first weights give a remainder of ten, other weights are used. */
function isIsikukood(digits: string): boolean {
  const first = weighted(digits, [1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
  const rest = first < 10 ? first : weighted(digits, [3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11;
  return /^[1-8]/.test(digits) && hasDay(digits, 'ymd', [0], 1) && rest % 10 === Number(digits[10]);
}

/** Germany: of the first ten digits, eight or nine are different. */
const isIdNr = (digits: string): boolean =>
  !digits.startsWith('0') && isMod1110(digits) && [8, 9].includes(new Set(digits.slice(0, 10)).size);

const isFodselsnummer = (digits: string): boolean =>
  isDay(String(Number(digits.slice(2, 4)) % 40), String(Number(digits.slice(0, 2)) % 40)) &&
  weighted(digits, [3, 7, 6, 1, 8, 9, 4, 5, 2, 1]) % 11 === 0 &&
  weighted(digits, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0;

const isPesel = (digits: string): boolean =>
  hasDay(digits, 'ymd', [0, 20, 40, 60, 80]) && weighted(digits, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0;

const isBsn = (digits: string): boolean => weighted(digits.padStart(9, '0'), [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0 && Number(digits) > 0;

const isNif = (digits: string): boolean => {
  const rest = weighted(digits, [9, 8, 7, 6, 5, 4, 3, 2]) % 11;
  return /^[1-35-9]/.test(digits) && Number(digits[8]) === (rest < 2 ? 0 : 11 - rest);
};

const isEgn = (digits: string): boolean => hasDay(digits, 'ymd', [0, 20, 40]) && isMod11([2, 4, 8, 5, 10, 9, 7, 3, 6])(digits);
const isCnp = (digits: string): boolean => hasDay(digits, 'ymd', [0], 1) && isMod11([2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9], 1)(digits);

const isEan = (digits: string): boolean => weighted(digits, [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]) % 10 === 0;

/** Austria: serial, check digit, day of birth. */
const isSvnr = (digits: string): boolean =>
  /^[1-9]/.test(digits) && hasDay(digits, 'dmy', [0, 1], 4) && weighted(digits, [3, 7, 9, 0, 5, 8, 4, 2, 1, 6]) % 11 === Number(digits[3]);

/**
 * Belgium: the last two digits are 97 minus the remainder. For people born from 2000 on, a 2 is put before the number,
 * and then the remainder is computed.
 */
const isRijksregister = (digits: string): boolean =>
  hasDay(digits, 'ymd', [0, 20, 40]) &&
  ['', '2'].some((century) => 97 - remainder(century + digits.slice(0, 9), 97) === Number(digits.slice(9)));

const rodneCislo = (digits: string): boolean =>
  hasDay(digits, 'ymd', [0, 20, 50, 70]) &&
  (digits.length === 9 || Number(digits) % 11 === 0 || (Number(digits.slice(0, 9)) % 11 === 10 && digits.endsWith('0')));

const germanLetters = /^[A-Z0-9]{9}\d$/;
/** German passports and identity cards, according to ICAO 9303: weights 7, 3, 1. */
const isDocument = (compact: string): boolean =>
  germanLetters.test(compact) && weightedLetters(compact, [7, 3, 1, 7, 3, 1, 7, 3, 1]) % 10 === Number(compact[9]);

/** Numbers of German pension insurance: the letter counts as its position in the alphabet, in two digits. */
function isRvnr(compact: string): boolean {
  const digits = compact.replace(/[A-Z]/, (letter) => String(letter.charCodeAt(0) - 64).padStart(2, '0'));
  if (!/^\d{13}$/.test(digits) || !hasDay(compact, 'dmy', [0], 2)) return false;
  const sum = [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1].reduce((total, weight, at) => {
    const product = weight * Number(digits[at]);
    return total + Math.floor(product / 10) + (product % 10);
  }, 0);
  return sum % 10 === Number(digits[12]);
}

const spanishLetters = 'TRWAGMYFPDXBNJZSQVHLCKE';
/** Spain: the numbers of nationals and of foreigners. `12345678Z` is on every sample form, and is not assigned. */
function isDni(compact: string): boolean {
  const digits = compact.slice(0, -1).replace(/^[XYZ]/, (letter) => String('XYZ'.indexOf(letter)));
  return /^\d{8}$/.test(digits) && Number(digits) > 0 && compact !== '12345678Z' && compact.at(-1) === spanishLetters[Number(digits) % 23];
}

const oddValues = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];

/**
 * Italy: the last letter is computed over all characters before it. This letter is checked first, because the other
 * rules take long to check.
 */
function isCodiceFiscale(compact: string): boolean {
  let sum = 0;
  for (let at = 0; at < 15; at++) {
    const code = compact.charCodeAt(at);
    const value = code < 58 ? code - 48 : code - 65;
    sum += at % 2 === 0 ? (oddValues[value] ?? 0) : value;
  }
  return compact.charCodeAt(15) === 65 + (sum % 26) && taxId('it-IT')(compact);
}

const finnishLetters = '0123456789ABCDEFHJKLMNPRSTUVWXY';
const isHetu = (compact: string): boolean =>
  hasDay(compact, 'dmy') && compact.at(-1) === finnishLetters[Number(compact.slice(0, 6) + compact.slice(-4, -1)) % 31];

/**
 * France: the last two digits are 97 minus the remainder. The departments of Corsica, `2A` and `2B`, count as 19 and
 * 18.
 */
function isNir(compact: string): boolean {
  const digits = compact.replace('2A', '19').replace('2B', '18');
  return (
    /^[1-478]\d\d(?:0[1-9]|1[0-2]|[2-4]\d|[5-9]\d)\d{10}$/.test(digits) &&
    97 - remainder(digits.slice(0, 13), 97) === Number(digits.slice(13))
  );
}

/** Great Britain: prefixes that HMRC does not assign are excluded. */
const isNino = (compact: string): boolean =>
  /^(?!BG|GB|KN|NK|NT|TN|ZZ|QQ|AB123456|JG103759)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]$/.test(compact);
const isNhs = (digits: string): boolean => Number(digits) > 0 && weighted(digits, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0;
const isUtr = (digits: string): boolean => '21987654321'[weighted(digits.slice(1), [6, 7, 8, 9, 10, 5, 4, 3, 2]) % 11] === digits[0];

const isAmka = (digits: string): boolean => hasDay(digits, 'dmy') && isLuhn(digits);
const isTaj = (digits: string): boolean => weighted(digits, [3, 7, 3, 7, 3, 7, 3, 7]) % 10 === Number(digits[8]);
const isAdoazonosito = (digits: string): boolean =>
  digits.startsWith('8') && weighted(digits, [1, 2, 3, 4, 5, 6, 7, 8, 9]) % 11 === Number(digits[9]);
const isKennitala = (digits: string): boolean =>
  hasDay(digits, 'dmy', [0]) && weighted(digits, [3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0 && /[890]$/.test(digits);

/** The personal numbers of the countries of former Yugoslavia. */
const isJmbg = (digits: string): boolean =>
  hasDay(digits, 'dmy') && (11 - (weighted(digits, [7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11)) % 11 === Number(digits[12]);

/** Poland's identity card: three letters, check digit, five digits. */
const isDowod = (compact: string): boolean => weightedLetters(compact, [7, 3, 1, 9, 7, 3, 1, 7, 3]) % 10 === 0;

const isSnils = (digits: string): boolean =>
  (weighted(digits, [9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101) % 100 === Number(digits.slice(9)) && Number(digits) > 0;
const innWeights = [3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8];
const isInn = (digits: string): boolean =>
  [digits.length - 2, digits.length - 1]
    .slice(digits.length === 10 ? 1 : 0)
    .every((at) => (weighted(digits, innWeights.slice(11 - at)) % 11) % 10 === Number(digits[at])) && Number(digits) > 0;

/** Sweden: only the last ten digits are checked. In a coordination number, 60 is added to the day. */
function isPersonnummer(digits: string): boolean {
  const short = digits.slice(-10);
  const day = Number(short.slice(4, 6));
  return (
    isDay(short.slice(2, 4), String(day > 60 ? day - 60 : day)) && isLuhn(short) && (digits.length === 10 || /^(?:18|19|20)/.test(digits))
  );
}

export const europe: readonly NationalId[] = [
  { name: 'at-svnr', alone: [], labelled: ['#### ######', '##########', '####-######'], isValid: isSvnr },
  {
    name: 'be-nrn',
    alone: ['##.##.##-###.##'],
    labelled: ['###########', '##.##.##-###-##', '###### ### ##', '## ## ## ### ##', '######-###-##'],
    isValid: isRijksregister,
  },
  { name: 'bg-egn', alone: [], labelled: ['##########'], isValid: isEgn },
  {
    name: 'ch-ahv',
    alone: ['###.####.####.##', '### #### #### ##'],
    labelled: ['#############'],
    isValid: (digits) => digits.startsWith('756') && isEan(digits),
  },
  { name: 'cz-sk-rc', alone: ['######/####'], labelled: ['##########', '######/###', '###### ####', '######-####'], isValid: rodneCislo },
  { name: 'de-idnr', alone: [], labelled: ['## ### ### ###', '###########', '##/###/###/###'], isValid: isIdNr },
  { name: 'de-rvnr', alone: ['## ###### @ ###'], labelled: ['########@###', '##-######-@-###'], isValid: isRvnr },
  {
    name: 'de-steuernummer',
    alone: [],
    labelled: ['#####/#####', '##/###/#####', '###/###/#####', '###/####/####', '### ### #####'],
    isValid: (digits) => Number(digits) > 0,
    called: /(?:steuernummer|st(?:euer)?\.?-?nr)[^\d\n]*$/i,
  },
  {
    name: 'de-document',
    alone: [],
    labelled: ['@########', '@########*', '@##@##@##', '@##@##@###'],
    isValid: (compact) => compact.length === 9 || isDocument(compact),
  },
  { name: 'dk-cpr', alone: [], labelled: ['######-####', '##########', '###### ####'], isValid: (digits) => hasDay(digits, 'dmy') },
  { name: 'ee-lt', alone: [], labelled: ['###########'], isValid: isIsikukood },
  {
    name: 'es-dni',
    alone: ['########-@', '##.###.###-@'],
    labelled: ['########@', '########-@', '##.###.###@', '##.###.### @', '######## @'],
    isValid: isDni,
  },
  {
    name: 'es-nie',
    alone: ['@-#######-@', '@#######@'],
    labelled: ['@#######@', '@-#######@', '@-#######-@', '@#######-@'],
    isValid: (compact) => /^[XYZ]/.test(compact) && isDni(compact),
  },
  {
    name: 'es-cif',
    alone: [],
    labelled: ['@########', '@-########', '@#######@'],
    isValid: (compact) => /^[A-HJNP-SUVW]\d{7}[0-9A-J]$/.test(compact),
  },
  { name: 'fi-hetu', alone: ['######-###*', '######A###*', '######+###*'], labelled: ['######@###*'], isValid: isHetu },
  {
    name: 'fr-nir',
    alone: ['# ## ## ## ### ### ##', '###############', '# ## ## #@ ### ### ##'],
    labelled: ['#############', '# ## ## ## ### ###', '#####@#########'],
    isValid: (compact) => (compact.length === 13 ? /^[12]\d\d(?:0[1-9]|1[0-2])/.test(compact) : isNir(compact)),
  },
  {
    name: 'fr-spi',
    alone: [],
    labelled: ['## ## ### ### ###', '#############'],
    isValid: (digits) => /^[0-3]/.test(digits) && remainder(digits.slice(0, 10), 511) === Number(digits.slice(10)),
  },
  {
    name: 'gb-nino',
    alone: ['@@ ## ## ## @', '@@######@', '@@ ###### @'],
    labelled: ['@@######@', '@@ ## ## ## @', '@@-##-##-##-@'],
    isValid: isNino,
  },
  { name: 'gb-nhs', alone: [], labelled: ['### ### ####', '###-###-####', '##########'], isValid: isNhs },
  { name: 'gb-utr', alone: [], labelled: ['##########', '##### #####'], isValid: isUtr },
  { name: 'gr-amka', alone: [], labelled: ['###########'], isValid: isAmka },
  { name: 'gr-afm', alone: [], labelled: ['#########'], isValid: isMod11([256, 128, 64, 32, 16, 8, 4, 2]) },
  { name: 'hr-oib', alone: [], labelled: ['###########'], isValid: isMod1110 },
  { name: 'hu-taj', alone: [], labelled: ['### ### ###', '#########', '###-###-###'], isValid: isTaj },
  { name: 'hu-tax', alone: [], labelled: ['##########'], isValid: isAdoazonosito },
  { name: 'ie-pps', alone: [], labelled: ['#######@', '#######@@', '####### @', '####### @@'], isValid: taxId('en-IE') },
  { name: 'is-kt', alone: [], labelled: ['######-####', '##########'], isValid: isKennitala },
  { name: 'it-cf', alone: ['@@@@@@##@##@###@'], labelled: ['@@@@@@##@##@###@', '@@@ @@@ ##@## @###@'], isValid: isCodiceFiscale },
  {
    name: 'lv-pk',
    alone: [],
    labelled: ['######-#####', '###########'],
    isValid: (digits) => hasDay(digits, 'dmy') && taxId('lv-LV')(digits),
  },
  { name: 'lu-tax', alone: [], labelled: ['#############'], isValid: taxId('fr-LU') },
  { name: 'nl-bsn', alone: [], labelled: ['#########', '####.##.###', '### ### ###', '#### ## ###', '########'], isValid: isBsn },
  { name: 'no-fnr', alone: [], labelled: ['###########', '###### #####', '######-#####', '###### ## ###'], isValid: isFodselsnummer },
  { name: 'pl-pesel', alone: [], labelled: ['###########'], isValid: isPesel },
  {
    name: 'pl-nip',
    alone: [],
    labelled: ['###-###-##-##', '###-##-##-###', '##########'],
    isValid: isMod11([6, 5, 7, 2, 3, 4, 5, 6, 7], -1),
  },
  { name: 'pl-dowod', alone: [], labelled: ['@@@######', '@@@ ######'], isValid: isDowod },
  { name: 'pt-nif', alone: [], labelled: ['#########', '### ### ###'], isValid: isNif },
  { name: 'ro-cnp', alone: [], labelled: ['#############', '# ###### ######'], isValid: isCnp },
  { name: 'ru-snils', alone: ['###-###-### ##', '###-###-###-##'], labelled: ['###########', '### ### ### ##'], isValid: isSnils },
  { name: 'ru-inn', alone: [], labelled: ['############', '##########'], isValid: isInn },
  { name: 'ru-passport', alone: [], labelled: ['#### ######', '## ## ######'], isValid: (digits) => Number(digits) > 0 },
  {
    name: 'se-pnr',
    alone: ['########-####', '######-####'],
    labelled: ['############', '##########', '######+####', '######## ####', '###### ####'],
    isValid: isPersonnummer,
  },
  { name: 'si-tax', alone: [], labelled: ['########'], isValid: taxId('sl-SI') },
  { name: 'ua-rnokpp', alone: [], labelled: ['##########'], isValid: isMod11([-1, 5, 7, 9, 4, 6, 10, 5, 7]) },
  { name: 'yu-jmbg', alone: [], labelled: ['#############'], isValid: isJmbg },
];
