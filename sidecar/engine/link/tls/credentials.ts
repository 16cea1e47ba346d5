// Holds the credentials of the link: the authorities that verify the control plane and, in two of the three forms, this
// sidecar's own certificate and key. All credentials are replaced at once. Open connections keep the credentials that
// they started with.
import { X509Certificate } from 'node:crypto';

/** A certificate and its private key, both as PEM. */
export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

export interface Material {
  readonly authorities: string;
  /** Null: the sidecar presents no certificate. */
  readonly own: Pair | null;
}

export interface LinkCredentials {
  /** Whether the sidecar presents its own certificate. */
  readonly shows: boolean;
  /** Null: there are no credentials yet, and connections wait for them. */
  readonly current: Material | null;
  /** Why there are no credentials, or no newer ones. Null: there is no problem. */
  readonly problem: string | null;
  /** True: the issuer of certificates reports that the key is not valid. The sidecar must decide nothing with it. */
  readonly keyRefused: boolean;
  /** When the sidecar's own certificate expires, in ms since 1970. Null: it has no certificate. */
  readonly expiresAt: number | null;
  /** Calls `listener` whenever one of the values above has changed. */
  onChange(listener: () => void): void;
  close(): Promise<void>;
}

/** The credentials with the functions that change them. There is one writer, and many readers. */
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

/** Returns when a certificate expires, in ms since 1970. Of a certificate chain, the first certificate counts. */
export const expiryOf = (certificate: string): number => Date.parse(new X509Certificate(certificate).validTo);
