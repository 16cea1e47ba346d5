// Compares two files of checksums. Called by `main.ts`.

/** Archives of images have the random id of a container in their configuration, and so have their lists a digest of it. */
const random = /^(?:images\/|sbom\/image-of-)/;

/** One line for each file whose bytes differ, or that only one of both has. */
export function compareSums(first: string, second: string): readonly string[] {
  const read = (text: string): ReadonlyMap<string, string> =>
    new Map(
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => [line.slice(66), line.slice(0, 64)] as const),
    );
  const [one, other] = [read(first), read(second)];
  if (one.size === 0) return ['the first run has no checksums'];
  return [...new Set([...one.keys(), ...other.keys()])]
    .toSorted()
    .filter((name) => (random.test(name) ? one.has(name) !== other.has(name) : one.get(name) !== other.get(name)))
    .map((name) => `${name} differs between two runs`);
}
