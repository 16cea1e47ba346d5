// Uses one database lookup for many requests that ask the same question at the same time. A request that arrives while
// a lookup is running waits for the next lookup, which begins after the request arrived. A key that was revoked by then
// is refused, as if each request had its own lookup.
//
// States of a question: running → running, with a next lookup requested → running …; removed when it is answered and no
// request waits.

interface PendingLookup<Answer> {
  readonly now: Promise<Answer>;
  /** Begins when `now` has settled. Null: no request has arrived since `now` began. */
  next: Promise<Answer> | null;
}

export function createSharedLookup<Answer>(look: (question: string) => Promise<Answer>): (question: string) => Promise<Answer> {
  const asked = new Map<string, PendingLookup<Answer>>();

  function begin(question: string): Promise<Answer> {
    const now = look(question);
    const own: PendingLookup<Answer> = { now, next: null };
    asked.set(question, own);
    const forget = (): void => {
      if (own.next === null) asked.delete(question);
    };
    now.then(forget, forget);
    return now;
  }

  return (question) => {
    const under = asked.get(question);
    if (under === undefined) return begin(question);
    const again = (): Promise<Answer> => begin(question);
    under.next ??= under.now.then(again, again);
    return under.next;
  };
}
