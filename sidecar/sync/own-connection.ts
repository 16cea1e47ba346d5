// A connection of its own for each stream: whoever opens anew may find another control plane. And none is waited for beyond `connectMs`:
// an address that no packet reaches any more, such as that of a pod that has gone, is given up by the kernel minutes later only, and
// until then gRPC fails every call over that connection, whoever serves again.
import { type ChannelOptions, type Client, type ClientDuplexStream, connectivityState, status } from '@grpc/grpc-js';
import type { Channel } from './channel.ts';

const connectMs = 5_000;

export const ownConnection = ({ options }: Channel): ChannelOptions => ({ ...options, 'grpc.use_local_subchannel_pool': 1 });

/** The connection goes with the stream; the stream ends, unavailable, where there is no connection in time. */
export function endTogether<Asked, Answered>(
  client: Client,
  stream: ClientDuplexStream<Asked, Answered>,
  patienceMs = connectMs,
): ClientDuplexStream<Asked, Answered> {
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
