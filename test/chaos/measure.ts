// Marks the steps of a scenario whose duration is promised. CI runs the scenarios without a clock: the events and their
// order are the same on a busy machine. test/long runs them again and measures.
export type Measure = <T>(step: string, work: () => Promise<T>) => Promise<T>;

export const unmeasured: Measure = (_step, work) => work();
