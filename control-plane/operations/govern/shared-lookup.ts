// Looks up in the database for many that ask the same at once. Whoever asks while a lookup is under way waits for the next one, which
// begins after they asked: what was revoked by then is dead for them too, as if each had looked alone.
//
// States of a question: looking → looking, and wanted again → looking …; forgotten once it is answered and nobody waits.

interface Asked<Answer> {
  readonly now: Promise<Answer>;
  /** Begins once `now` has settled. Null: nobody has asked since it began. */
  next: Promise<Answer> | null;
}

export function createSharedLookup<Answer>(look: (question: string) => Promise<Answer>): (question: string) => Promise<Answer> {
  const asked = new Map<string, Asked<Answer>>();

  function begin(question: string): Promise<Answer> {
    const now = look(question);
    const own: Asked<Answer> = { now, next: null };
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
