// Measures how evenly a text uses its characters: keys that a machine generated differ from words that a person chose.

/**
 * Returns the Shannon entropy, in bits for each character: 0 for `aaaa`, 4 for long random hex, about 5 for a key of 40
 * characters.
 */
export function bitsPerCharacter(value: string): number {
  if (value.length === 0) return 0;
  const counts = new Map<number, number>();
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  let bits = 0;
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length);
  return bits;
}
