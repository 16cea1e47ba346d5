// Checks the check digits of issued numbers. Each function takes the number without its separators.

const digit = (text: string, at: number): number => text.charCodeAt(at) - 48;

/** Checks the Luhn digit (ISO/IEC 7812-1): every second digit from the right counts double. */
export function isLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = digits.length - 1, double = false; at >= 0; at--, double = !double) {
    const value = digit(digits, at) * (double ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

/** Returns the sum of the digits, each multiplied by its weight. Only as many digits are used as there are weights. */
export function weighted(digits: string, weights: readonly number[]): number {
  let sum = 0;
  for (let at = 0; at < weights.length; at++) sum += (weights[at] ?? 0) * digit(digits, at);
  return sum;
}

/** Returns the weighted sum of a text that may contain letters. Letters count from 10 on. A blank counts as 36. */
export function weightedLetters(text: string, weights: readonly number[]): number {
  let sum = 0;
  for (let at = 0; at < weights.length; at++) {
    const code = text.charCodeAt(at);
    sum += (weights[at] ?? 0) * (code === 32 ? 36 : code < 58 ? code - 48 : code - 55);
  }
  return sum;
}

/** Returns the remainder of a number of any length after division by `by`. */
export function remainder(digits: string, by: number): number {
  let rest = 0;
  for (let at = 0; at < digits.length; at++) rest = (rest * 10 + digit(digits, at)) % by;
  return rest;
}

const multiply = [
  '0123456789', '1234067895', '2340178956', '3401289567', '4012395678', '5987604321', '6598710432', '7659821043', '8765932104', '9876543210',
]; // biome-ignore format: a table
const permute = ['0123456789', '1576283094', '5803796142', '8916043527', '9453126870', '4286573901', '2793806415', '7046913258'];

/** Checks Verhoeff's check digit, over the dihedral group of order ten. */
export function isVerhoeff(digits: string): boolean {
  let check = 0;
  for (let at = 0; at < digits.length; at++)
    check = Number(multiply[check]?.[Number(permute[at % 8]?.[digit(digits, digits.length - 1 - at)])]);
  return check === 0;
}

/** Returns whether `month` is a month, and `day` a day of that month. */
export function isDay(month: string, day: string): boolean {
  const inMonth = Number(month);
  const inDay = Number(day);
  return inMonth >= 1 && inMonth <= 12 && inDay >= 1 && inDay <= (inMonth === 2 ? 29 : [4, 6, 9, 11].includes(inMonth) ? 30 : 31);
}
