// What bounds a key besides its scopes, its pins and its expiry, also bounds the keys that it issues and rotates: nobody
// gives what they lack. Asked by the operations on keys.
import type { KeyPins } from './key.ts';

export interface KeyBounds {
  readonly pins: KeyPins;
  /** Null: never. */
  readonly expiresAt: Date | null;
}

/** What `asked` leaves open, as `giver` has it. */
export const inheritBounds = ({ pins, expiresAt }: KeyBounds, asked: KeyBounds): KeyBounds => ({
  pins: {
    tier: asked.pins.tier ?? pins.tier,
    agent: asked.pins.agent ?? pins.agent,
    client: asked.pins.client ?? pins.client,
  },
  expiresAt: asked.expiresAt ?? expiresAt,
});

const pinNames = ['tier', 'agent', 'client'] as const satisfies readonly (keyof KeyPins)[];

/** The bound of `giver` that `given` would leave, in words; or null. */
export function brokenBound(giver: KeyBounds, given: KeyBounds): string | null {
  const pin = pinNames.find((name) => giver.pins[name] !== null && given.pins[name] !== giver.pins[name]);
  if (pin !== undefined) return `its pin of ${pin} to ${JSON.stringify(giver.pins[pin])}`;
  const { expiresAt } = giver;
  if (expiresAt === null || (given.expiresAt !== null && given.expiresAt <= expiresAt)) return null;
  return `its expiresAt of ${expiresAt.toISOString()}`;
}
