// How a sidecar reaches its control plane: address, transport security and the key that goes with every stream.
import { type ChannelCredentials, type ChannelOptions, credentials, Metadata } from '@grpc/grpc-js';
import { AppError, bounds, isLoopback } from '@tollgate/proto/contract';

export interface ChannelConfig {
  /** `host:port`. */
  readonly controlPlane: string;
  readonly key: string;
  /** Plain text beyond loopback, asked for by name. */
  readonly plaintext: boolean;
}

export interface Channel {
  readonly address: string;
  readonly credentials: ChannelCredentials;
  readonly options: ChannelOptions;
  metadata(): Metadata;
}

export function createChannel({ controlPlane, key, plaintext }: ChannelConfig): Channel {
  const host = hostOf(controlPlane);
  return {
    address: controlPlane,
    credentials: plaintext || isLoopback(host) ? credentials.createInsecure() : credentials.createSsl(),
    options: {
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

function hostOf(address: string): string {
  const parts = /^(?:\[([0-9a-fA-F:]+)\]|([^:\s]+)):(\d{1,5})$/.exec(address);
  const host = parts?.[1] ?? parts?.[2];
  if (host === undefined)
    throw new AppError({
      code: 'bad_request',
      publicMessage: `the control plane's address must be host:port, is ${JSON.stringify(address)}`,
    });
  return host;
}
