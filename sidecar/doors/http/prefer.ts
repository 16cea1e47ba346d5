// Reads how long the caller of an HTTP tool waits for the answer of a person: `Prefer: wait=<seconds>`, RFC 7240. This
// preference is for the sidecar. It is not forwarded, and it is no part of the call, so the same call with another wait
// meets the same approval.

/** A longer wait counts as this one, in seconds. A rule may hold its calls for a shorter time. */
const waitSecondsMax = 300;

/** A longer header is not read. */
const lengthMax = 1_000;

const preference = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g;
const wait = /^\s*wait\s*(?:=\s*"?(\d{1,9})"?\s*)?(?:;.*)?$/is;

const preferencesIn = (header: string): readonly string[] => (header.length > lengthMax ? [] : (header.match(preference) ?? []));

/** Returns the wait in seconds, at most `waitSecondsMax`. 0: the header names none. The first one counts. */
export function preferredWait(header: string | undefined): number {
  const named = header === undefined ? undefined : preferencesIn(header).find((one) => wait.test(one));
  return named === undefined ? 0 : Math.min(waitSecondsMax, Number(wait.exec(named)?.[1] ?? 0));
}

/** Returns the header without the wait. Undefined: nothing is left of it. */
export function withoutWait(header: string): string | undefined {
  const all = preferencesIn(header);
  const others = all.filter((one) => !wait.test(one));
  if (others.length === all.length) return header;
  return others.length === 0 ? undefined : others.map((one) => one.trim()).join(', ');
}
