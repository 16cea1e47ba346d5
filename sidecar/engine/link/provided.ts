// Adapts `LinkCredentials` to the interface of gRPC: it notifies of changes as long as a channel lives. A connection
// uses the credentials that exist when it is made. If there are none yet, it waits for them.
import type { experimental } from '@grpc/grpc-js';
import type { LinkCredentials } from './tls/credentials.ts';

type Provider = experimental.CertificateProvider;

export function providerOf(linkCredentials: LinkCredentials): Provider {
  const authorityListeners = new Set<experimental.CaCertificateUpdateListener>();
  const ownListeners = new Set<experimental.IdentityCertificateUpdateListener>();
  const tellAuthorities = (listener: experimental.CaCertificateUpdateListener): void => {
    const { current } = linkCredentials;
    if (current !== null) listener({ caCertificate: Buffer.from(current.authorities) });
  };
  const tellOwn = (listener: experimental.IdentityCertificateUpdateListener): void => {
    const own = linkCredentials.current?.own ?? null;
    if (own !== null) listener({ certificate: Buffer.from(own.certificate), privateKey: Buffer.from(own.key) });
  };
  linkCredentials.onChange(() => {
    authorityListeners.forEach(tellAuthorities);
    ownListeners.forEach(tellOwn);
  });
  return {
    addCaCertificateListener: (listener) => {
      authorityListeners.add(listener);
      tellAuthorities(listener);
    },
    removeCaCertificateListener: (listener) => void authorityListeners.delete(listener),
    addIdentityCertificateListener: (listener) => {
      ownListeners.add(listener);
      tellOwn(listener);
    },
    removeIdentityCertificateListener: (listener) => void ownListeners.delete(listener),
  };
}
