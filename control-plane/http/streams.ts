// Counts the open streamed answers of this process. It limits them per key and in total.
import { AppError } from '@tollgate/proto/contract';
import { createSeats } from '../base/turns.ts';

export interface StreamBounds {
  readonly ofKey: number;
  readonly inProcess: number;
  /** How long sent data may stay unread before the stream is cut. */
  readonly undrainedMs: number;
}

export const streamBounds: StreamBounds = { ofKey: 10, inProcess: 200, undrainedMs: 60_000 };

export interface OpenStreams {
  readonly undrainedMs: number;
  /**
   * Counts one stream of the key until the returned function is called. Throws `rate_limited` when too many are open.
   */
  open(keyId: string): () => void;
}

export function createOpenStreams({ ofKey, inProcess, undrainedMs }: StreamBounds): OpenStreams {
  const seats = createSeats<string>({ each: ofKey, all: inProcess });
  const words = { 'by the key': `at most ${ofKey} long answers of a key`, 'by all': `at most ${inProcess} long answers` };
  return {
    undrainedMs,
    open: (keyId) => {
      const seat = seats.take(keyId);
      if ('leave' in seat) return seat.leave;
      const publicMessage = `${words[seat.taken]} (stream, export, simulate) may be open at once in one control plane; close one and try again`;
      throw new AppError({ code: 'rate_limited', publicMessage, retryAfterSeconds: 5 });
    },
  };
}
