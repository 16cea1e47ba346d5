// Which share is evicted when all shares together exceed the budget.
import { expect, test } from 'vitest';
import { Budget, type Share } from '../../../../sidecar/doors/entrance/budget.ts';

/** Holds items of 10 bytes. Items in use stay. */
class Things implements Share {
  bytes = 0;
  readonly #budget: Budget;
  readonly #inUse: number;

  constructor(budget: Budget, inUse: number) {
    this.#budget = budget;
    this.#inUse = inUse;
    budget.add(this);
  }

  get canForget(): boolean {
    return this.bytes > 10 * this.#inUse;
  }

  forgetOldest(): void {
    this.add(-1);
  }

  add(things: number): void {
    this.bytes += 10 * things;
    this.#budget.changed(10 * things);
  }
}

test('only the largest share is evicted', () => {
  const budget = new Budget(1_000);
  const small = new Things(budget, 1);
  const large = new Things(budget, 1);
  small.add(30);
  for (let n = 0; n < 200; n += 1) large.add(1);
  expect(small.bytes).toBe(300);
  expect(budget.bytes).toBeLessThanOrEqual(1_000);
});

test('where all of the largest share is in use, the next largest is evicted', () => {
  const budget = new Budget(1_000);
  const small = new Things(budget, 1);
  const inUse = new Things(budget, 60);
  const large = new Things(budget, 1);
  small.add(5);
  inUse.add(60);
  for (let n = 0; n < 500; n += 1) {
    large.add(1);
    expect(budget.bytes).toBeLessThanOrEqual(1_000);
  }
  expect([small.bytes, inUse.bytes]).toEqual([50, 600]);
});

test('where everything is in use, nothing is evicted', () => {
  const budget = new Budget(1_000);
  const shares = [new Things(budget, 60), new Things(budget, 70)];
  for (const share of shares) share.add(60);
  expect(shares.map(({ bytes }) => bytes)).toEqual([600, 600]);
});
