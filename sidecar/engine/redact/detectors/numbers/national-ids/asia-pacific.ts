// Defines the national ids of Asia, Africa and the Pacific: their written forms and their checks.
import isIdentityCard from 'validator/lib/isIdentityCard.js';
import { isDay, isLuhn, isVerhoeff, weighted, weightedLetters } from '../checksums.ts';
import type { NationalId } from './form.ts';

const isAllEqual = (digits: string): boolean => new Set(digits).size === 1;

const identityCard =
  (locale: 'IR' | 'PK' | 'TH' | 'he-IL' | 'zh-CN' | 'zh-HK' | 'zh-TW' | 'ar-TN') =>
  (compact: string): boolean =>
    isIdentityCard.default(compact, locale);

/** China, GB 11643: region, day of birth, serial, and the check character of ISO 7064, which is `X` for ten. */
function isResidentId(compact: string): boolean {
  if (!/^[1-9]\d{5}(?:19|20)\d{9}[\dX]$/.test(compact) || !isDay(compact.slice(10, 12), compact.slice(12, 14))) return false;
  return '10X98765432'[weighted(compact, [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11] === compact[17];
}

/**
 * Hong Kong: the number begins with one or two letters. If there is only one letter, a blank stands before it. This
 * blank counts as 36.
 */
function isHkid(compact: string): boolean {
  const padded = compact.padStart(9, ' ');
  return '0123456789A'[(11 - (weightedLetters(padded, [9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 11] === padded[8];
}

/** Taiwan: the first letter represents a place, and counts as two digits. */
const taiwanLetters = 'ABCDEFGHJKLMNPQRSTUVXYWZIO';
function isTaiwanId(compact: string): boolean {
  const place = taiwanLetters.indexOf(compact.charAt(0)) + 10;
  const digits = String(place) + compact.slice(1).replace(/^[A-D]/, (letter) => String('ABCD'.indexOf(letter)));
  return /^\d{11}$/.test(digits) && /^[A-Z][1289A-D]/.test(compact) && weighted(digits, [1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1]) % 10 === 0;
}

/**
 * Korea: a day of birth, and a digit for century and sex. Numbers that were assigned since 2020 have no check digit.
 */
const isRrn = (digits: string): boolean =>
  isDay(digits.slice(2, 4), digits.slice(4, 6)) && /^\d{6}[1-8]/.test(digits) && !/^\d{7}(?:0{6}|123456)$/.test(digits);

/**
 * Japan's individual number: the weights are 6 to 2, then 7 to 2. If the remainder is one or less, the check digit is
 * 0.
 */
function isMyNumber(digits: string): boolean {
  const rest = weighted(digits, [6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
  return !isAllEqual(digits) && Number(digits[11]) === (rest <= 1 ? 0 : 11 - rest);
}

/**
 * Singapore: the first letter of the number determines the row of check letters, and an offset that is added to the
 * sum.
 */
const singaporeRows: Readonly<Record<string, readonly [letters: string, offset: number]>> = {
  S: ['JZIHGFEDCBA', 0],
  T: ['JZIHGFEDCBA', 4],
  F: ['XWUTRQPNMLK', 0],
  G: ['XWUTRQPNMLK', 4],
  M: ['KLJNPQRTUWX', 3],
};
function isNric(compact: string): boolean {
  const [letters, offset] = singaporeRows[compact.charAt(0)] ?? ['', 0];
  if (letters === '' || compact === 'S1234567D') return false;
  const rest = (weighted(compact.slice(1), [2, 7, 6, 5, 4, 3, 2]) + offset) % 11;
  return letters[compact.startsWith('M') ? 10 - rest : rest] === compact[8];
}

/** Malaysia: the number contains the day and the place of birth. */
const isMyKad = (digits: string): boolean =>
  isDay(digits.slice(2, 4), digits.slice(4, 6)) && /^\d{6}(?:0[1-9]|1[0-6]|[2-5]\d|6[0-8]|7[14-9]|8[2-9]|9[0-389])/.test(digits);

/** Indonesia: region, day of birth, serial. For women, 40 is added to the day. */
const isNik = (digits: string): boolean => /^[1-9]\d/.test(digits) && isDay(digits.slice(8, 10), String(Number(digits.slice(6, 8)) % 40));

const isAadhaar = (digits: string): boolean => /^[2-9]/.test(digits) && isVerhoeff(digits) && !isAllEqual(digits);
const isPan = (compact: string): boolean =>
  /^[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]$/.test(compact) && !/^(?:ABCD|AAAA|BNZAA2318J)/.test(compact) && !/1234[A-Z]$/.test(compact);

function isTckn(digits: string): boolean {
  const odd = weighted(digits, [1, 0, 1, 0, 1, 0, 1, 0, 1]);
  const even = weighted(digits, [0, 1, 0, 1, 0, 1, 0, 1]);
  return (
    !digits.startsWith('0') &&
    (odd * 7 - even + 10) % 10 === Number(digits[9]) &&
    weighted(digits, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]) % 10 === Number(digits[10])
  );
}

const isTfn = (digits: string): boolean => !isAllEqual(digits) && weighted(digits, [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0;
const isMedicare = (digits: string): boolean =>
  /^[2-6]/.test(digits) && weighted(digits, [1, 3, 7, 9, 1, 3, 7, 9]) % 10 === Number(digits[8]);
const isAbn = (digits: string): boolean =>
  weighted(String(Number(digits[0]) - 1) + digits.slice(1), [10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]) % 89 === 0;

function isIrd(digits: string): boolean {
  const padded = digits.padStart(9, '0');
  const checks = [
    [3, 2, 7, 6, 5, 4, 3, 2],
    [7, 4, 3, 2, 5, 2, 7, 6],
  ].map((weights) => (11 - (weighted(padded, weights) % 11)) % 11);
  return (checks[0] === 10 ? checks[1] : checks[0]) === Number(padded[8]) && Number(digits) > 10_000_000;
}

const isSouthAfrican = (digits: string): boolean =>
  isDay(digits.slice(2, 4), digits.slice(4, 6)) && /^\d{10}[012]/.test(digits) && isLuhn(digits);
const isEgyptian = (digits: string): boolean =>
  /^[23]/.test(digits) && isDay(digits.slice(3, 5), digits.slice(5, 7)) && /^\d{7}(?:0[1-4]|[12]\d|3[1-5]|88)/.test(digits);
const isEmirati = (digits: string): boolean => /^784(?:19|20)/.test(digits) && isLuhn(digits);
const isSaudi = (digits: string): boolean => /^[12]/.test(digits) && isLuhn(digits);
const isKuwaiti = (digits: string): boolean =>
  /^[23]/.test(digits) &&
  isDay(digits.slice(3, 5), digits.slice(5, 7)) &&
  11 - (weighted(digits, [2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11) === Number(digits[11]);
const isThai = (digits: string): boolean =>
  /^[1-8]/.test(digits) && (11 - (weighted(digits, [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 10 === Number(digits[12]);
const isKazakh = (digits: string): boolean => {
  const first = weighted(digits, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) % 11;
  return (
    isDay(digits.slice(2, 4), digits.slice(4, 6)) &&
    (first === 10 ? weighted(digits, [3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2]) % 11 : first) === Number(digits[11])
  );
};

export const asiaPacific: readonly NationalId[] = [
  { name: 'ae-eid', alone: ['###-####-#######-#'], labelled: ['###############', '### #### ####### #'], isValid: isEmirati },
  { name: 'au-tfn', alone: [], labelled: ['### ### ###', '#########', '###-###-###'], isValid: isTfn },
  { name: 'au-medicare', alone: [], labelled: ['#### ##### #', '##########', '#### ##### #/#', '####-#####-#'], isValid: isMedicare },
  { name: 'au-abn', alone: [], labelled: ['## ### ### ###', '###########'], isValid: isAbn },
  { name: 'cn-id', alone: ['#################*'], labelled: ['###### ######## ####', '###### ######## ###@'], isValid: isResidentId },
  { name: 'eg-id', alone: [], labelled: ['##############'], isValid: isEgyptian },
  { name: 'hk-id', alone: ['@######(*)', '@@######(*)'], labelled: ['@######*', '@@######*', '@###### (*)', '@######-*'], isValid: isHkid },
  { name: 'id-nik', alone: [], labelled: ['################'], isValid: isNik },
  {
    name: 'il-id',
    alone: [],
    labelled: ['#########', '########-#', '########'],
    isValid: (digits) => Number(digits) > 0 && isLuhn(digits.padStart(9, '0')),
  },
  { name: 'in-aadhaar', alone: [], labelled: ['#### #### ####', '############', '####-####-####'], isValid: isAadhaar },
  { name: 'in-pan', alone: ['@@@P@####@'], labelled: ['@@@@@####@'], isValid: isPan },
  { name: 'ir-id', alone: [], labelled: ['##########', '###-######-#'], isValid: identityCard('IR') },
  { name: 'jp-my-number', alone: [], labelled: ['#### #### ####', '############', '####-####-####'], isValid: isMyNumber },
  { name: 'kr-rrn', alone: ['######-#######'], labelled: ['#############', '###### #######'], isValid: isRrn },
  { name: 'kw-id', alone: [], labelled: ['############'], isValid: isKuwaiti },
  { name: 'kz-iin', alone: [], labelled: ['############'], isValid: isKazakh },
  {
    name: 'ng-nin',
    alone: [],
    labelled: ['###########'],
    isValid: (digits) => !isAllEqual(digits),
    called: /(?:^|[^A-Za-z])(?:nin|bvn)(?![A-Za-z]{3})[^\d\n]*$/i,
  },
  { name: 'my-kad', alone: [], labelled: ['######-##-####', '############'], isValid: isMyKad },
  { name: 'nz-ird', alone: [], labelled: ['###-###-###', '##-###-###', '#########', '########', '### ### ###'], isValid: isIrd },
  {
    name: 'pk-cnic',
    alone: ['#####-#######-#'],
    labelled: [],
    isValid: (digits) => /^[1-7]/.test(digits) && !isAllEqual(digits) && !digits.startsWith('12345'),
  },
  {
    name: 'ph-psn',
    alone: [],
    labelled: ['####-####-####-####', '####-####-####', '##-#######-#', '###-###-###-###'],
    isValid: (digits) => !isAllEqual(digits),
  },
  { name: 'sa-id', alone: [], labelled: ['##########'], isValid: isSaudi },
  { name: 'sg-nric', alone: ['@#######@'], labelled: ['@#######@'], isValid: isNric },
  { name: 'th-id', alone: ['#-####-#####-##-#', '# #### ##### ## #'], labelled: ['#############'], isValid: isThai },
  { name: 'tn-id', alone: [], labelled: ['########'], isValid: (digits) => /^[01]/.test(digits) },
  { name: 'tr-tckn', alone: [], labelled: ['###########', '### ### ## ###'], isValid: isTckn },
  { name: 'tw-id', alone: [], labelled: ['@#########', '@@########'], isValid: isTaiwanId },
  { name: 'vn-cccd', alone: [], labelled: ['############'], isValid: (digits) => /^0\d{2}[0-3]/.test(digits) },
  { name: 'za-id', alone: ['###### #### ## #'], labelled: ['#############', '###### #### ###'], isValid: isSouthAfrican },
];
