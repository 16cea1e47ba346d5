// How a sidecar reaches its control plane: address, transport security and the key that goes with every stream.
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { type ChannelCredentials, type ChannelOptions, credentials, experimental, Metadata } from '@grpc/grpc-js';
import { AppError, bounds, isLoopback } from '@tollgate/proto/contract';
import type { LinkCredentials } from '../tls/credentials.ts';
import { providerOf } from './provided.ts';

export interface ChannelConfig {
  /** `host:port`. */
  readonly controlPlane: string;
  readonly key: string;
  /** Plain text beyond loopback, asked for by name. */
  readonly plaintext: boolean;
  /** Whom to trust, and what to show: TLS then, whatever the address is. Null: as the two above say. */
  readonly linkCredentials: LinkCredentials | null;
}

export interface Channel {
  readonly address: string;
  /** For one channel each: those that were given up while they waited for a certificate are not to connect, all at once, when there is one. */
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
      // An address is no name to ask a TLS server for; it is checked all the same.
      ...(linkCredentials !== null && isIP(host) !== 0 ? { 'grpc.ssl_target_name_override': 'localhost' } : {}),
      'grpc.max_receive_message_length': bounds.grpcMessageBytes,
      'grpc.max_send_message_length': bounds.grpcMessageBytes,
      'grpc.keepalive_time_ms': 20_000,
      'grpc.keepalive_timeout_ms': 10_000,
      // Reconnecting is ours: one backoff with jitter, not two on top of each other.
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

/** Throws where it is none. */
export function hostOf(address: string): string {
  const parts = /^(?:\[([0-9a-fA-F:]+)\]|([^:\s]+)):(\d{1,5})$/.exec(address);
  const host = parts?.[1] ?? parts?.[2];
  if (host === undefined)
    throw new AppError({
      code: 'bad_request',
      publicMessage: `the control plane's address must be host:port, is ${JSON.stringify(address)}`,
    });
  return host;
}
