// Stores the highest number in the redaction marks of each session that is no longer in memory. A session that returns
// continues above its number, so `[redacted:email#1]` does not name a different person than before. The table has a
// fixed size. If two sessions share a place in it, they only start at a higher number than necessary.

const places = 65_536;

export interface NumberFloors {
  /** Returns the highest number that a session may have used. */
  of(session: string): number;
  raise(session: string, number: number): void;
}

export function createNumberFloors(): NumberFloors {
  let floors: Uint32Array | null = null;
  return {
    of: (session) => floors?.[placeOf(session)] ?? 0,
    raise: (session, number) => {
      floors ??= new Uint32Array(places);
      const place = placeOf(session);
      floors[place] = Math.max(floors[place] ?? 0, number);
    },
  };
}

/** Returns the place of a session in the table: 16 bits of its FNV-1a hash. */
function placeOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 16)) & (places - 1);
}
