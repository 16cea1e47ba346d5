// Gives each stream its own connection, because a new connection may reach another control plane. A connection attempt
// is limited to `connectMs`. If packets no longer reach an address, for example the address of a removed pod, the
// kernel gives up only after minutes. Until then gRPC fails every call over that connection, even if a control plane
// serves again.
import { type ChannelOptions, type Client, type ClientDuplexStream, connectivityState, status } from '@grpc/grpc-js';
import type { Channel } from './channel.ts';

const connectMs = 5_000;

export const ownConnection = ({ options }: Channel): ChannelOptions => ({ ...options, 'grpc.use_local_subchannel_pool': 1 });

/** Closes the connection when the stream ends. The stream ends with UNAVAILABLE if there is no connection in time. */
export function endTogether<Outgoing, Incoming>(
  client: Client,
  stream: ClientDuplexStream<Outgoing, Incoming>,
  patienceMs = connectMs,
): ClientDuplexStream<Outgoing, Incoming> {
  const timer = setTimeout(() => {
    if (client.getChannel().getConnectivityState(false) === connectivityState.READY) return;
    stream.call?.cancelWithStatus(status.UNAVAILABLE, `no connection within ${patienceMs / 1_000} s`);
  }, patienceMs);
  timer.unref();
  stream.on('status', () => {
    clearTimeout(timer);
    client.close();
  });
  return stream;
}
