// How many requests of each key were refused before they were read, because it sent too many or too much. They are no calls; one entry
// says for each key and second how many there were, so that a flood costs little and is seen. What cannot be written waits, and closing writes
// what is left; a kill, more than `keysMax` keys, or a disk that takes nothing at the end loses numbers, and `lost` hears of the last two.
//
// States of a tally: counting, from a first refusal until the second is over → written, and gone. Of all keys together one timer runs.
import { bindCaller } from '../decide/bind.ts';
import type { Identity } from '../decide/call.ts';
import { refuse } from '../decide/refusal.ts';
import { callerText, entryText, type RunFacts } from '../govern/audit-entry.ts';
import type { Governing } from '../govern/governing.ts';
import { heldBy } from '../govern/run.ts';

/** `requests`: over the key's limit; `bytes`: no room for its body. */
export type RefusedBy = 'requests' | 'bytes';

/** Where the entry of a key goes. It may wait for long, so nothing of a snapshot is in it. */
export interface RefusedKey {
  readonly governing: Governing;
  readonly identity: Identity;
}

export interface RefusedRequests {
  /** `find` is asked when the entry is written. */
  note(keyId: string, by: RefusedBy, find: () => RefusedKey | Promise<RefusedKey>): void;
  /** Writes what was counted. */
  close(): Promise<void>;
}

interface Tally {
  readonly find: () => RefusedKey | Promise<RefusedKey>;
  readonly counts: Record<RefusedBy, number>;
}

const secondMs = 1_000;
const keysMax = 10_000;

/** `lost` hears of refusals that no entry tells of: beyond `max` keys in a second, or with no way to write at the end. */
export function createRefusedRequests(lost: (requests: number) => void, max = keysMax): RefusedRequests {
  const tallies = new Map<string, Tally>();
  let timer: NodeJS.Timeout | null = null;

  const add = (keyId: string, find: Tally['find'], { requests, bytes }: Tally['counts']): void => {
    const known = tallies.get(keyId);
    if (known === undefined && tallies.size >= max) return lost(requests + bytes);
    const { counts } = known ?? { counts: { requests: 0, bytes: 0 } };
    counts.requests += requests;
    counts.bytes += bytes;
    if (known === undefined) tallies.set(keyId, { find, counts });
    timer ??= setTimeout(() => void writeAll(add), secondMs).unref();
  };

  /** `unwritten` takes what could not be written. */
  const writeAll = async (unwritten: (keyId: string, find: Tally['find'], counts: Tally['counts']) => void): Promise<void> => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const taken = [...tallies];
    tallies.clear();
    for (const [keyId, { find, counts }] of taken) {
      try {
        write(await find(), counts);
      } catch {
        unwritten(keyId, find, counts);
      }
    }
  };

  return {
    note: (keyId, by, find) => add(keyId, find, { requests: 0, bytes: 0, [by]: 1 }),
    close: () => writeAll((_keyId, _find, { requests, bytes }) => lost(requests + bytes)),
  };
}

/** Throws where it cannot be. */
function write({ governing: { spool, govern }, identity }: RefusedKey, counts: Tally['counts']): void {
  // Who called by which agent and client stands in bodies that were not read.
  const client = { name: 'unread' };
  const caller = bindCaller(heldBy(govern.cell), { identity, hops: [{ tier: 'api', client: client.name, agent: '' }] });
  const facts: RunFacts = { sessionId: identity.keyId, client, runChain: [identity.keyId], chainClaimed: false };
  spool.append(
    entryText(callerText(caller, facts), {
      hookEvent: 'PreToolUse',
      tool: '',
      decision: refuse('request_limit', wordsOf(counts)),
      requestId: govern.newId(),
      trace: null,
      at: govern.clock.wall(),
      policyAgeMs: govern.clock.now() - govern.cell.freshness.heardAt,
      inputDigest: '',
      input: null,
      findings: [],
    }),
  );
}

function wordsOf({ requests, bytes }: Tally['counts']): string {
  const causes = [
    ...(requests > 0 ? [`${requests} over the key's limit of requests a second`] : []),
    ...(bytes > 0 ? [`${bytes} while too many bytes of its bodies were under way`] : []),
  ];
  const all = requests + bytes;
  return `${all} ${all === 1 ? 'request was' : 'requests were'} refused unread in this second: ${causes.join(', ')}`;
}
