// Defines how a sidecar reaches its control plane: address, transport security and the key that is sent with every
// stream.
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { type ChannelCredentials, type ChannelOptions, credentials, experimental, Metadata } from '@grpc/grpc-js';
import { AppError, bounds, isLoopback } from '@tollgate/proto/contract';
import type { LinkCredentials } from './tls/credentials.ts';

export interface ChannelConfig {
  /** `host:port`. */
  readonly controlPlane: string;
  readonly key: string;
  /** True: plain text is used for all addresses, and not only for loopback. It must be configured explicitly. */
  readonly plaintext: boolean;
  /**
   * The trusted authorities, and the certificate to present. If this is set, TLS is used for every address. Null:
   * `controlPlane` and `plaintext` determine whether TLS is used.
   */
  readonly linkCredentials: LinkCredentials | null;
}

export interface Channel {
  readonly address: string;
  /**
   * Returns new credentials for one channel. Channels do not share credentials: otherwise, when a certificate arrives,
   * all channels that were given up while they waited for it would connect at once.
   */
  credentials(): ChannelCredentials;
  readonly options: ChannelOptions;
  metadata(): Metadata;
}

export function createChannel({ controlPlane, key, plaintext, linkCredentials }: ChannelConfig): Channel {
  const host = hostOf(controlPlane);
  const credentialsFor = linkCredentials === null ? openOrPublic(plaintext || isLoopback(host)) : securedBy(linkCredentials, host);
  return {
    address: controlPlane,
    credentials: credentialsFor,
    options: {
      // TLS does not accept an IP address as a server name, so another name is sent. The certificate is still checked
      // against the address.
      ...(linkCredentials !== null && isIP(host) !== 0 ? { 'grpc.ssl_target_name_override': 'localhost' } : {}),
      'grpc.max_receive_message_length': bounds.grpcMessageBytes,
      'grpc.max_send_message_length': bounds.grpcMessageBytes,
      'grpc.keepalive_time_ms': 20_000,
      'grpc.keepalive_timeout_ms': 10_000,
      // The sidecar has its own reconnect backoff with jitter. gRPC's backoff is short, so that the two are not
      // combined.
      'grpc.initial_reconnect_backoff_ms': bounds.reconnectMs.first,
      'grpc.max_reconnect_backoff_ms': 1_000,
    },
    metadata: () => {
      const metadata = new Metadata();
      metadata.set('authorization', `Bearer ${key}`);
      return metadata;
    },
  };
}

const openOrPublic = (isOpen: boolean) => () => (isOpen ? credentials.createInsecure() : credentials.createSsl());

function securedBy(linkCredentials: LinkCredentials, host: string): () => ChannelCredentials {
  const provider = providerOf(linkCredentials);
  const verify = {
    checkServerIdentity: (_: string, certificate: Parameters<typeof checkServerIdentity>[1]) => checkServerIdentity(host, certificate),
  };
  return () => experimental.createCertificateProviderChannelCredentials(provider, linkCredentials.shows ? provider : null, verify);
}

/** Returns the host of an address. Throws if the address is not `host:port`. */
export function hostOf(address: string): string {
  const parts = /^(?:\[([0-9a-fA-F:]+)\]|([^:\s]+)):(\d{1,5})$/.exec(address);
  const host = parts?.[1] ?? parts?.[2];
  if (host === undefined)
    throw new AppError({
      code: 'bad_request',
      publicMessage: `the control plane's address must have the form host:port, but is ${JSON.stringify(address)}`,
    });
  return host;
}

// Adapts `LinkCredentials` to the interface of gRPC. As long as a channel lives, gRPC is notified of changes. A
// connection uses the credentials that exist when the connection is made. If there are none yet, the connection waits
// for them.

type Provider = experimental.CertificateProvider;

function providerOf(linkCredentials: LinkCredentials): Provider {
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
