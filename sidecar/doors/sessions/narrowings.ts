// Stores the tools that were delegated to agents of a session (`delegated_tools`). A list also applies to later
// requests, and it can only become narrower. Therefore each list is kept for a day after its last use, even if memory
// is short. A caller that would create more lists than the memory allows is refused.
//
// Memory is limited in bytes, for all keys of the process together. When a key takes memory, the free memory must
// afterwards be at least as large as everything that this key uses. Equal lists of a key are stored once.
import { digestText, type FairMemory, intersectTools } from '@tollgate/proto/contract';

export interface Narrowings {
  /** Returns the tools that were delegated to an agent of a session. Undefined: all tools. */
  find(place: string, agent: string, now: number): readonly string[] | undefined;
  /** Narrows the list of an agent to the given tools. False: there is no memory, and the list is unchanged. */
  narrow(place: string, agent: string, tools: readonly string[], now: number): boolean;
  /** True: no list is stored. */
  readonly isEmpty: boolean;
}

interface List {
  readonly key: string;
  readonly tools: readonly string[];
  readonly bytes: number;
  holders: number;
}

interface Narrowing {
  readonly list: List;
  usedAt: number;
}

const keptMs = 24 * 3_600_000;
/** Estimated memory in bytes for one agent of a session: a digest, two objects and a map entry. */
const narrowingBytes = 300;
const listBytes = 400;
const nameBytes = 40;
/** The time of use is updated at most once in this number of ms. */
const noteMs = 60_000;

/** Creates the store of the lists of one key. */
export function createNarrowings(memory: FairMemory<object>): Narrowings {
  // The least recently used is first.
  const all = new Map<string, Narrowing>();
  const lists = new Map<string, List>();
  const owner = {};

  const keyOf = (place: string, agent: string): string => digestText(JSON.stringify([place, agent]));
  const give = (bytes: number): void => memory.give(owner, bytes);
  const drop = (key: string, { list }: Narrowing): void => {
    all.delete(key);
    list.holders -= 1;
    if (list.holders === 0) lists.delete(list.key);
    give(narrowingBytes + (list.holders === 0 ? list.bytes : 0));
  };
  const forgetOld = (now: number): void => {
    for (const [key, narrowing] of all) {
      if (now - narrowing.usedAt < keptMs) return;
      drop(key, narrowing);
    }
  };
  const use = (key: string, now: number): Narrowing | undefined => {
    const narrowing = all.get(key);
    if (narrowing === undefined || now - narrowing.usedAt < noteMs) return narrowing;
    narrowing.usedAt = now;
    all.delete(key);
    all.set(key, narrowing);
    return narrowing;
  };
  const listOf = (tools: readonly string[]): List => {
    const key = digestText(JSON.stringify(tools));
    const bytes = listBytes + tools.reduce((sum, name) => sum + nameBytes + 2 * name.length, 0);
    return lists.get(key) ?? { key, tools, bytes, holders: 0 };
  };

  return {
    get isEmpty() {
      return all.size === 0;
    },
    find: (place, agent, now) => {
      forgetOld(now);
      return all.size === 0 ? undefined : use(keyOf(place, agent), now)?.list.tools;
    },
    narrow: (place, agent, tools, now) => {
      forgetOld(now);
      const key = keyOf(place, agent);
      const before = use(key, now);
      const list = listOf(before === undefined ? tools : intersectTools(before.list.tools, tools));
      if (before?.list === list) return true;
      const more = (before === undefined ? narrowingBytes : 0) + (list.holders === 0 ? list.bytes : 0);
      if (!memory.take(owner, more)) return false;
      lists.set(list.key, list);
      list.holders += 1;
      all.set(key, { list, usedAt: now });
      if (before !== undefined) {
        before.list.holders -= 1;
        if (before.list.holders === 0) {
          lists.delete(before.list.key);
          give(before.list.bytes);
        }
      }
      return true;
    },
  };
}
