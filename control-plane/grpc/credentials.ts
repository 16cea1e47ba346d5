// The transport security of the gRPC server. The server certificate and the trusted authorities can be replaced while
// the server runs. New connections use the new certificate and authorities; an existing connection keeps those with
// which it began. Clients must show a certificate.
import { experimental, type ServerCredentials } from '@grpc/grpc-js';

export interface TlsMaterial {
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  readonly authorities: readonly string[];
}

export interface TlsSource {
  /** Null: no client is accepted. */
  readonly current: TlsMaterial | null;
  /** Returns a function that removes the listener. */
  onChange(listener: (material: TlsMaterial) => void): () => void;
}

export function createTlsCredentials(source: TlsSource): ServerCredentials {
  const provider = providerOf(source);
  // grpc-js 1.14.7 confuses the two parameters. One object serves as both.
  return experimental.createCertificateProviderServerCredentials(provider, provider, true);
}

type CaListener = Parameters<experimental.CertificateProvider['addCaCertificateListener']>[0];
type IdentityListener = Parameters<experimental.CertificateProvider['addIdentityCertificateListener']>[0];

function providerOf(source: TlsSource): experimental.CertificateProvider {
  const forgetCa = new Map<CaListener, () => void>();
  const forgetIdentity = new Map<IdentityListener, () => void>();
  /** Calls the listener in the next turn, because the server ignores calls that are made while it adds a listener. */
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
