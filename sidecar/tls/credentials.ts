// What this sidecar connects by: the authorities that it checks the control plane with and, in two of the three forms,
// a certificate and a key of its own. All of it is replaced at one instant; connections that are open go on with what they
// began with.
import { X509Certificate } from 'node:crypto';

/** All as PEM. */
export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

export interface Material {
  readonly authorities: string;
  /** Null: it shows none. */
  readonly own: Pair | null;
}

export interface LinkCredentials {
  /** Whether a certificate of its own belongs to it. */
  readonly shows: boolean;
  /** Null: there is none yet, and connections wait for it. */
  readonly current: Material | null;
  /** Why there is none, or none newer; null when all is well. */
  readonly problem: string | null;
  /** Whoever issues certificates says that the key is no good: nothing may be decided with it. */
  readonly keyRefused: boolean;
  /** When its own certificate expires, in ms since 1970; null without one. */
  readonly expiresAt: number | null;
  /** Calls back whenever any of the above is another. */
  onChange(listener: () => void): void;
  close(): Promise<void>;
}

/** One writer, many readers. */
export interface CredentialsCell {
  readonly credentials: LinkCredentials;
  take(material: Material): void;
  fail(problem: string | null, keyRefused?: boolean): void;
}

export function createCredentialsCell(shows: boolean, close: () => Promise<void> = () => Promise.resolve()): CredentialsCell {
  const listeners = new Set<() => void>();
  let current: Material | null = null;
  let problem: string | null = null;
  let keyRefused = false;
  const changed = (): void => {
    for (const listener of listeners) listener();
  };
  return {
    credentials: {
      shows,
      get current() {
        return current;
      },
      get problem() {
        return problem;
      },
      get keyRefused() {
        return keyRefused;
      },
      get expiresAt() {
        return current?.own == null ? null : expiryOf(current.own.certificate);
      },
      onChange: (listener) => void listeners.add(listener),
      close,
    },
    take: (material) => {
      current = material;
      problem = null;
      keyRefused = false;
      changed();
    },
    fail: (why, isKeyRefused = false) => {
      if (why === problem && isKeyRefused === keyRefused) return;
      problem = why;
      keyRefused = isKeyRefused;
      changed();
    },
  };
}

/** In ms since 1970; of a chain its first. */
export const expiryOf = (certificate: string): number => Date.parse(new X509Certificate(certificate).validTo);
