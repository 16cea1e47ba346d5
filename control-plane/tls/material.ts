// What a TLS server shows and whom it believes, looked after as time passes. States:
//   without   there is none yet: nobody is let in, and it is looked for again
//   held      the last good one; where looking after it fails it stays, and the log says so each time
import { loggable, reasonOf } from '../loggable.ts';
import { lifeOf } from '../x509/authorities.ts';
import type { Pair } from '../x509/certificate.ts';

export interface Material extends Pair {
  /** Whom it believes, as PEM. */
  readonly authorities: readonly string[];
}

export interface TendedMaterial {
  readonly current: Material | null;
  /** Why nobody can be served; null: all is well. */
  readonly problem: string | null;
  /** Called for each new one; answers how to be called no more. */
  onChange(listener: (material: Material) => void): () => void;
  /** Looks after it, now. */
  tend(): Promise<void>;
  close(): Promise<void>;
}

interface Deps {
  /** What to have now: `held` itself where that is the same. Throws where it cannot be had. */
  readonly find: (held: Material | null) => Promise<Material>;
  readonly now: () => Date;
  readonly log: {
    info(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

const standardTendMs = 30_000;

/** Resolves once it was looked for, found or not. */
export async function tendMaterial({ find, now, log }: Deps, tendMs = standardTendMs): Promise<TendedMaterial> {
  const listeners = new Set<(material: Material) => void>();
  let current: Material | null = null;
  let problem: string | null = 'there is no certificate yet';
  const tendOnce = async (): Promise<void> => {
    try {
      const found = await find(current);
      problem = null;
      if (found === current) return;
      current = found;
      for (const listener of listeners) listener(found);
      log.info(
        { expiresAt: expiryOf(found), authorities: found.authorities.length },
        'the certificate that sidecars are shown is a new one',
      );
    } catch (error) {
      problem = reasonOf(error);
      log.error(loggable(error), 'the certificate that sidecars are shown was not looked after');
    }
  };
  let tending: Promise<void> = Promise.resolve();
  const tend = (): Promise<void> => (tending = tending.then(tendOnce));
  await tend();
  const timer = setInterval(() => void tend(), tendMs);
  return {
    get current() {
      return current;
    },
    get problem() {
      if (current === null) return problem;
      return lifeOf(current).until > now().getTime() ? null : `it expired at ${expiryOf(current)}${problem === null ? '' : `: ${problem}`}`;
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    tend,
    close: () => {
      clearInterval(timer);
      return tending;
    },
  };
}

const expiryOf = (material: Material): string => new Date(lifeOf(material).until).toISOString();
