// The transport security of the gRPC server: what it shows and whom it believes may be replaced while it serves. New
// connections meet the new; those that are there go on with what they began with. Clients must show a certificate.
import { experimental, type ServerCredentials } from '@grpc/grpc-js';

export interface TlsMaterial {
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  readonly authorities: readonly string[];
}

export interface TlsSource {
  /** Null: nobody is let in. */
  readonly current: TlsMaterial | null;
  /** Answers how to be called no more. */
  onChange(listener: (material: TlsMaterial) => void): () => void;
}

export function createTlsCredentials(source: TlsSource): ServerCredentials {
  const provider = providerOf(source);
  // 1.14.7 takes the two for each other; it is one that is both.
  return experimental.createCertificateProviderServerCredentials(provider, provider, true);
}

type CaListener = Parameters<experimental.CertificateProvider['addCaCertificateListener']>[0];
type IdentityListener = Parameters<experimental.CertificateProvider['addIdentityCertificateListener']>[0];

function providerOf(source: TlsSource): experimental.CertificateProvider {
  const forgetCa = new Map<CaListener, () => void>();
  const forgetIdentity = new Map<IdentityListener, () => void>();
  /** At the next turn: the server hears nothing of what it is told while it adds a listener. */
  const follow = (tell: (material: TlsMaterial) => void): (() => void) => {
    const { current } = source;
    if (current !== null) process.nextTick(tell, current);
    return source.onChange(tell);
  };
  const drop = <L>(listeners: Map<L, () => void>, listener: L): void => {
    listeners.get(listener)?.();
    listeners.delete(listener);
  };
  return {
    addCaCertificateListener: (listener) =>
      void forgetCa.set(
        listener,
        follow(({ authorities }) => listener({ caCertificate: Buffer.from(authorities.join('')) })),
      ),
    removeCaCertificateListener: (listener) => drop(forgetCa, listener),
    addIdentityCertificateListener: (listener) =>
      void forgetIdentity.set(
        listener,
        follow(({ certificate, key }) => listener({ certificate: Buffer.from(certificate), privateKey: Buffer.from(key) })),
      ),
    removeIdentityCertificateListener: (listener) => drop(forgetIdentity, listener),
  };
}
