// Keeps the certificate of a TLS server and the authorities that it trusts up to date. States:
//   without   there is no certificate yet: every client is rejected, and the search is repeated
//   held      the last good certificate; if a renewal fails, it stays in use, and each failure is logged
import { loggable, reasonOf } from '../../base/loggable.ts';
import { lifeOf } from '../x509/authorities.ts';
import type { Pair } from '../x509/certificate.ts';

export interface Material extends Pair {
  /** The authorities that the server trusts, as PEM. */
  readonly authorities: readonly string[];
}

export interface MaintainedMaterial {
  readonly current: Material | null;
  /** Why no client can be served; null: there is no problem. */
  readonly problem: string | null;
  /** Why the last check failed. Null: it succeeded. The last good material stays in use. */
  readonly failure: string | null;
  /** `listener` is called for each new material. Returns a function that ends the calls. */
  onChange(listener: (material: Material) => void): () => void;
  /** Checks and renews the material immediately. */
  check(): Promise<void>;
  close(): Promise<void>;
}

interface MaterialDeps {
  /**
   * Returns the current material. If the material is unchanged, returns the same object, `held`. Throws when there is
   * no material.
   */
  readonly find: (held: Material | null) => Promise<Material>;
  readonly now: () => Date;
  /** The words for the certificate in log lines. Absent: that of the servers for sidecars. */
  readonly what?: string;
  readonly log: {
    info(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

const standardCheckMs = 30_000;

/** Starts to keep the material up to date. Resolves after the first search, whether it succeeded or not. */
export async function maintainMaterial(
  { find, now, log, what = 'the server certificate for sidecars' }: MaterialDeps,
  checkMs = standardCheckMs,
): Promise<MaintainedMaterial> {
  const listeners = new Set<(material: Material) => void>();
  let current: Material | null = null;
  let problem: string | null = 'there is no certificate yet';
  const checkOnce = async (): Promise<void> => {
    try {
      const found = await find(current);
      problem = null;
      if (found === current) return;
      current = found;
      for (const listener of listeners) listener(found);
      log.info({ expiresAt: expiryOf(found), authorities: found.authorities.length }, `${what} was renewed`);
    } catch (error) {
      problem = reasonOf(error);
      log.error(loggable(error), `${what} could not be checked or renewed`);
    }
  };
  let checking: Promise<void> = Promise.resolve();
  const check = (): Promise<void> => (checking = checking.then(checkOnce));
  await check();
  const timer = setInterval(() => void check(), checkMs);
  return {
    get current() {
      return current;
    },
    get failure() {
      return problem;
    },
    get problem() {
      if (current === null) return problem;
      return lifeOf(current).until > now().getTime() ? null : `it expired at ${expiryOf(current)}${problem === null ? '' : `: ${problem}`}`;
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    check,
    close: () => {
      clearInterval(timer);
      return checking;
    },
  };
}

const expiryOf = (material: Material): string => new Date(lifeOf(material).until).toISOString();
