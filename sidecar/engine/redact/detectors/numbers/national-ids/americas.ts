// Defines the national ids of the Americas: their written forms and their checks.
import isTaxID from 'validator/lib/isTaxID.js';
import { isDay, isLuhn, weighted } from '../checksums.ts';
import type { NationalId } from './form.ts';

/** Brazil: two check digits, each computed over the digits before it. */
const hasTwoChecks = (digits: string, first: readonly number[]): boolean =>
  [first, [first.length === 9 ? 11 : 6, ...first]].every((weights, at) => {
    const rest = weighted(digits, weights) % 11;
    return Number(digits[digits.length - 2 + at]) === (rest < 2 ? 0 : 11 - rest);
  });

const isAllEqual = (digits: string): boolean => new Set(digits).size === 1;

/**
 * Chile: the check character is 11 minus the remainder, with `K` for ten and 0 for eleven. Uruguay's number has other
 * weights.
 */
function isRut(compact: string): boolean {
  const digits = compact.slice(0, -1).padStart(8, '0');
  if (!/^\d+$/.test(digits) || Number(digits) < 1_000_000) return false;
  const rest = 11 - (weighted(digits, [3, 2, 7, 6, 5, 4, 3, 2]) % 11);
  return compact.at(-1) === (rest === 11 ? '0' : rest === 10 ? 'K' : String(rest));
}

const isCedulaOfUruguay = (digits: string): boolean => weighted(digits, [2, 9, 8, 7, 6, 3, 4, 1]) % 10 === 0 && !isAllEqual(digits);

// Numbers that were published on cards in wallets and in brochures. They are therefore not valid any more.
const withdrawn = new Set(['078051120', '219099999', '123456789', '111111111', '333333333', '777777777', '012345678']);

/**
 * By the rules of the Social Security Administration, the area is not 000, 666 or 900 and above, the group is not 00,
 * and the serial is not 0000.
 */
const isSsn = (digits: string): boolean =>
  /^(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}$/.test(digits) && !withdrawn.has(digits) && !digits.startsWith('98765432');

const isItin = (digits: string): boolean => /^9\d\d(?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])/.test(digits);

const curpValues = '0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ';

/** Mexico, RENAPO: sex, state and day must be valid, and the last digit is computed over all characters before it. */
function isCurp(compact: string): boolean {
  if (!/^[A-Z][AEIOUX][A-Z]{2}\d{6}[HMX][A-Z]{2}[B-DF-HJ-NP-TV-ZÑ]{3}[A-Z0-9]\d$/.test(compact)) return false;
  if (!isDay(compact.slice(6, 8), compact.slice(8, 10))) return false;
  let sum = 0;
  for (let at = 0; at < 17; at++) sum += curpValues.indexOf(compact.charAt(at)) * (18 - at);
  return Number(compact[17]) === (10 - (sum % 10)) % 10;
}

const isRfc = (compact: string): boolean =>
  /^[A-Z]{3,4}\d{6}[A-Z0-9]{2}[0-9A]$/.test(compact) && isDay(compact.slice(-7, -5), compact.slice(-5, -3));

const isCuit = (digits: string): boolean =>
  /^(?:20|23|24|27|30|33|34)/.test(digits) && weighted(digits, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0;

const isCedulaOfEcuador = (digits: string): boolean => /^(?:[01]\d|2[0-4]|30)[0-6]/.test(digits) && isLuhn(digits);

const isRucOfPeru = (digits: string): boolean =>
  /^(?:10|15|17|20)/.test(digits) && (11 - (weighted(digits, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11)) % 10 === Number(digits[10]);

const isNitOfColombia = (digits: string): boolean => {
  const rest = weighted(digits, [41, 37, 29, 23, 19, 17, 13, 7, 3]) % 11;
  return Number(digits[9]) === (rest < 2 ? rest : 11 - rest);
};

const isMbi = (compact: string): boolean =>
  /^[1-9][AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d[AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d[AC-HJKMNP-RT-Y]{2}\d{2}$/.test(compact);

export const americas: readonly NationalId[] = [
  { name: 'us-ssn', alone: ['###-##-####'], labelled: ['#########', '### ## ####', '###.##.####'], isValid: isSsn },
  { name: 'us-itin', alone: ['###-##-####'], labelled: ['#########', '### ## ####'], isValid: isItin },
  { name: 'us-ein', alone: [], labelled: ['##-#######'], isValid: (digits) => isTaxID.default(digits, 'en-US') },
  { name: 'us-mbi', alone: ['#@*#-@*#-@@##'], labelled: ['#@*#@*#@@##'], isValid: isMbi },
  {
    name: 'ca-sin',
    alone: [],
    labelled: ['###-###-###', '### ### ###', '#########'],
    isValid: (digits) => !/^[08]/.test(digits) && isLuhn(digits),
  },
  {
    name: 'br-cpf',
    alone: ['###.###.###-##'],
    labelled: ['###########', '#########-##', '### ### ### ##'],
    isValid: (digits) => !isAllEqual(digits) && hasTwoChecks(digits, [10, 9, 8, 7, 6, 5, 4, 3, 2]),
  },
  {
    name: 'br-rg',
    alone: [],
    labelled: ['##.###.###-*', '#.###.###-*'],
    isValid: (compact) => /^\d+[\dX]$/.test(compact),
    called: /(?:^|[^A-Za-z])rg(?![A-Za-z]{3})[^\d\n]*$/i,
  },
  {
    name: 'br-cnpj',
    alone: ['##.###.###/####-##'],
    labelled: ['##############', '########/####-##', '## ### ### #### ##'],
    isValid: (digits) => !isAllEqual(digits) && hasTwoChecks(digits, [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]),
  },
  {
    name: 'cl-rut',
    alone: ['##.###.###-*', '#.###.###-*'],
    labelled: ['########-*', '#######-*', '#########', '########@', '########', '#######@'],
    isValid: isRut,
  },
  { name: 'uy-ci', alone: ['#.###.###-#'], labelled: ['#######-#', '########'], isValid: isCedulaOfUruguay },
  { name: 'mx-curp', alone: ['@@@@######@@@@@@*#'], labelled: ['@@@@######@@@@@@*#'], isValid: isCurp },
  { name: 'mx-rfc', alone: [], labelled: ['@@@@######***', '@@@######***', '@@@@-######-***'], isValid: isRfc },
  { name: 'ar-cuit', alone: ['##-########-#'], labelled: ['###########'], isValid: isCuit },
  // These numbers have no check digit: only the word next to them identifies them.
  { name: 'ar-dni', alone: [], labelled: ['##.###.###', '#.###.###'], isValid: (digits) => !isAllEqual(digits) },
  { name: 'co-cedula', alone: [], labelled: ['#.###.###.###', '##.###.###'], isValid: (digits) => !isAllEqual(digits) },
  { name: 'co-nit', alone: [], labelled: ['###.###.###-#', '#########-#', '##########'], isValid: isNitOfColombia },
  { name: 'ec-cedula', alone: [], labelled: ['##########', '#########-#'], isValid: isCedulaOfEcuador },
  { name: 'pe-ruc', alone: [], labelled: ['###########'], isValid: isRucOfPeru },
  { name: 'do-cedula', alone: [], labelled: ['###-#######-#', '###########'], isValid: isLuhn },
  {
    name: 've-ci',
    alone: [],
    labelled: ['@-##.###.###', '@-########', '@##.###.###', '@-#.###.###'],
    isValid: (compact) => /^[VEJG]/.test(compact),
  },
  { name: 'cr-cedula', alone: [], labelled: ['#-####-####'], isValid: (digits) => /^[1-9]/.test(digits) },
];
