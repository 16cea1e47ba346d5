// Answers that go on, all of this process: how many there may be, for each key and in all.
import { AppError } from '@tollgate/proto/contract';
import { createSeats } from '../operations/turns.ts';

export interface StreamBounds {
  readonly ofKey: number;
  readonly inProcess: number;
  /** How long what was sent may lie unread before the stream is cut. */
  readonly undrainedMs: number;
}

export const streamBounds: StreamBounds = { ofKey: 10, inProcess: 200, undrainedMs: 60_000 };

export interface OpenStreams {
  readonly undrainedMs: number;
  /** Counts one of the key until the function is called; throws `rate_limited` where there are too many. */
  open(keyId: string): () => void;
}

export function createOpenStreams({ ofKey, inProcess, undrainedMs }: StreamBounds): OpenStreams {
  const seats = createSeats<string>({ each: ofKey, all: inProcess });
  const words = { 'by the key': `at most ${ofKey} answers of a key`, 'by all': `at most ${inProcess} answers` };
  return {
    undrainedMs,
    open: (keyId) => {
      const seat = seats.take(keyId);
      if ('leave' in seat) return seat.leave;
      const publicMessage = `${words[seat.taken]} that go on (stream, export, simulate) may be open at once in one control plane; end one and try again`;
      throw new AppError({ code: 'rate_limited', publicMessage, retryAfterSeconds: 5 });
    },
  };
}
