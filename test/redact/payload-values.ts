// Invents the values that stand in large payloads: addresses, numbers with right checksums, secrets. All come from the
// random numbers that are passed in, so a seed repeats them.
import type { Random } from '../chaos/kills/random.ts';

const makers = {
  ipv4: (random: Random) => [random.pick([78, 81, 91, 109, 178, 193, 212]), ...times(3, () => random.whole(1, 254))].join('.'),
  ipv6: (random: Random) => ['2a0', random.whole(1, 9), ...times(7, () => `:${hex(random, 4)}`)].join(''),
  email: (random: Random) =>
    `${random.pick(names)}.${random.pick(names)}${random.whole(1, 9_999)}@${random.pick(['lindenpost.net', 'fjordpost.no', 'brezovo.cz', 'polderpost.nl'])}`,
  phone: (random: Random) => `+372 5${digits(random, 3)} ${digits(random, 4)}`,
  card: (random: Random) => withLuhn(`${random.pick(['4539', '5169', '5404', '4485'])}${digits(random, 11)}`),
  iban: (random: Random) => ibanOf('DE', `3705${digits(random, 14)}`),
  ssn: (random: Random) => `${random.whole(410, 660)}-${random.whole(10, 99)}-${random.whole(1_000, 9_999)}`,
  password: (random: Random) => `${letters(random, 3)}${random.pick(['#', '!', '+', '='])}${letters(random, 6)}${digits(random, 3)}`,
  token: (random: Random) => `${letters(random, 12)}${digits(random, 3)}${letters(random, 17)}`,
} satisfies Readonly<Record<string, (random: Random) => string>>;

type ValueKind = keyof typeof makers;

export type Values = (kind: ValueKind) => string;

/** Makes values of which at most `distinct` of a kind differ. 0: each value is made newly. */
export function createValues(random: Random, distinct: number): Values {
  const pools = new Map<ValueKind, string[]>();
  return (kind) => {
    const pool = pools.get(kind) ?? [];
    if (distinct > 0 && pool.length >= distinct) return pool[random.whole(0, pool.length - 1)] ?? '';
    const value = makers[kind](random);
    if (distinct > 0) pools.set(kind, [...pool, value]);
    return value;
  };
}

const names = [
  'anu',
  'bert',
  'cleo',
  'dag',
  'elin',
  'fritz',
  'gerd',
  'hugo',
  'ines',
  'jaan',
  'kai',
  'liis',
  'mats',
  'nele',
  'oskar',
] as const;
const smallLetters = 'abcdefghijkmnopqrstuvwxyz';
const allLetters = `${smallLetters}ABCDEFGHJKLMNPQRSTUVWXYZ`;

export const hex = (random: Random, length: number): string => times(length, () => random.whole(0, 15).toString(16)).join('');
export const digits = (random: Random, length: number): string => times(length, () => random.whole(0, 9)).join('');
const letters = (random: Random, length: number): string =>
  times(length, () => allLetters.charAt(random.whole(0, allLetters.length - 1))).join('');

/** Appends the check digit of payment cards. */
export function withLuhn(body: string): string {
  const sum = Array.from(body, Number)
    .toReversed()
    .reduce((total, digit, at) => total + (at % 2 === 1 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2), 0);
  return `${body}${(10 - (sum % 10)) % 10}`;
}

/** Puts the country and the two check digits before the account. */
export function ibanOf(country: string, account: string): string {
  const asDigits = Array.from(`${account}${country}00`, (character) => String(Number.parseInt(character, 36))).join('');
  return `${country}${String(98n - (BigInt(asDigits) % 97n)).padStart(2, '0')}${account}`;
}

function times<T>(count: number, make: () => T): readonly T[] {
  return Array.from({ length: count }, make);
}
