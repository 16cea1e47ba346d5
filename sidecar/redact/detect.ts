// What is looked for in a text. Each detector runs in linear time: its pattern has a fixed start and no nested repeat.
// This is the small set of the first release; the engine that replaces it stands behind `redact` unchanged.

export interface Detector {
  readonly kind: string;
  readonly pattern: RegExp;
  /** A second look at a match, for what a pattern cannot say. */
  readonly confirm?: (match: string) => boolean;
}

export const detectors: readonly Detector[] = [
  { kind: 'tollgate_key', pattern: /gsk_[a-z0-9-]{1,40}_[A-Za-z0-9]{32,64}/g },
  // What is glued to an address and runs into a second @ goes with it: left behind, it would be an address by itself.
  {
    kind: 'email',
    pattern: /(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]{1,63}\.){1,126}[A-Za-z]{2,}(?:[A-Za-z0-9._%+-]*(?=@))?/g,
  },
  { kind: 'card', pattern: /(?<![\d.-])\d(?:[ -]?\d){12,18}(?![\d.-]?\d)/g, confirm: isCard },
];

/** 13 to 19 digits of a known brand that pass Luhn's check. */
function isCard(match: string): boolean {
  const digits = match.replaceAll(/\D/g, '');
  if (!/^(?:4|5[1-5]|2[2-7]|3[47]|6(?:011|5))/.test(digits)) return false;
  let sum = 0;
  for (const [at, digit] of digits.split('').toReversed().entries()) {
    const doubled = at % 2 === 1 ? Number(digit) * 2 : Number(digit);
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
