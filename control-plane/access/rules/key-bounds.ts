// The pins and the expiry of a key also limit the keys that it issues and rotates, because a key cannot give
// permissions that it lacks. The operations on keys check this.
import type { KeyPins } from './key.ts';

export interface KeyBounds {
  readonly pins: KeyPins;
  /** When the key expires; null: never. */
  readonly expiresAt: Date | null;
}

/** Returns the bounds of `asked`. Missing values are taken from `giver`. */
export const inheritBounds = ({ pins, expiresAt }: KeyBounds, asked: KeyBounds): KeyBounds => ({
  pins: {
    tier: asked.pins.tier ?? pins.tier,
    agent: asked.pins.agent ?? pins.agent,
    client: asked.pins.client ?? pins.client,
  },
  expiresAt: asked.expiresAt ?? expiresAt,
});

const pinNames = ['tier', 'agent', 'client'] as const satisfies readonly (keyof KeyPins)[];

/** Returns, in words, the bound of `giver` that `given` would exceed; null: none. */
export function brokenBound(giver: KeyBounds, given: KeyBounds): string | null {
  const pin = pinNames.find((name) => giver.pins[name] !== null && given.pins[name] !== giver.pins[name]);
  if (pin !== undefined) return `its pin of ${pin} to ${JSON.stringify(giver.pins[pin])}`;
  const { expiresAt } = giver;
  if (expiresAt === null || (given.expiresAt !== null && given.expiresAt <= expiresAt)) return null;
  return `its expiresAt of ${expiresAt.toISOString()}`;
}
