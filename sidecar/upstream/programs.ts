// Manages the programs of one tool server. The number of concurrent programs is limited, and each belongs to the
// channel that opened it. A program without messages in either direction for `idleMs` is ended. A program that exits
// before its first message is not restarted immediately, because it would probably exit again. Each such start makes
// the next delay longer, and a program that sends a message resets the delay. A caller that asks during the delay
// receives the remaining time.
import type { Clock, Timer } from '../base/clock.ts';
import { type Channel, type ChannelListener, UpstreamDown, upstreamBounds } from './upstream.ts';
import { type Command, type StartDeps, type StartedProgram, startProgram } from './program.ts';

export interface Programs {
  /** Rejects with an `UpstreamDown`. */
  readonly open: (listener: ChannelListener) => Promise<Channel>;
  /** Ends all programs. Resolves when they have exited. No program can be opened afterwards. */
  readonly close: () => Promise<void>;
}

export interface ProgramDeps extends Pick<StartDeps, 'env'> {
  readonly clock: Pick<Clock, 'now' | 'after'>;
}

/** Longer than any call without messages should take. */
const idleMs = 3_600_000;
/** Doubled with each failed start after the second. */
const waitMs = { first: 1_000, max: 30_000 } as const;

export function createPrograms(deps: ProgramDeps, command: Command, max: number = upstreamBounds.programs): Programs {
  const running = new Set<Channel>();
  /**
   * Programs that were asked to end and have not exited yet. They count against the limit only when there are `max` of
   * them.
   */
  const ending = new Set<Channel>();
  let opening = 0;
  let failures = 0;
  let notBefore = 0;
  let closed = false;
  let allGone: (() => void) | null = null;

  const failed = (): void => {
    failures += 1;
    if (failures > 1) notBefore = deps.clock.now() + Math.min(waitMs.first * 2 ** (failures - 2), waitMs.max);
  };
  const left = (): void => {
    if (running.size + ending.size + opening === 0) allGone?.();
  };
  const isFull = (): boolean => running.size + opening >= max || ending.size >= max;
  const refusal = (): string | null => {
    if (closed) return 'is no longer there';
    if (isFull()) return `has ${max} sessions open, each a program of its own; close one, or try again later`;
    const waits = notBefore - deps.clock.now();
    return waits > 0 ? `ends as soon as it is started; it is tried again in ${Math.ceil(waits / 1000)} s` : null;
  };
  const start = async (listener: ChannelListener): Promise<Channel> => {
    let started: StartedProgram | null = null;
    let asked = false;
    let active = deps.clock.now();
    let timer: Timer | null = null;
    const watch = (): void => {
      const idle = deps.clock.now() - active;
      if (idle >= idleMs) return channel.close();
      timer = deps.clock.after(idleMs - idle, watch);
      timer.unref();
    };
    const heard: ChannelListener = {
      message: (bytes) => {
        active = deps.clock.now();
        failures = 0;
        notBefore = 0;
        return listener.message(bytes);
      },
      closed: (problem) => {
        timer?.cancel();
        if (started?.hasSpoken() !== true && !asked) failed();
        running.delete(channel);
        ending.delete(channel);
        listener.closed(problem);
        left();
      },
    };
    const channel: Channel = {
      send: async (message) => {
        if (started === null) throw new UpstreamDown('has ended');
        active = deps.clock.now();
        await started.channel.send(message);
      },
      close: () => {
        asked = true;
        if (running.delete(channel)) ending.add(channel);
        started?.channel.close();
      },
    };
    started = await startProgram(deps, command, heard);
    running.add(channel);
    watch();
    if (closed) channel.close();
    return channel;
  };

  return {
    open: async (listener) => {
      const problem = refusal();
      if (problem !== null) throw new UpstreamDown(problem);
      opening += 1;
      try {
        return await start(listener);
      } catch (error) {
        failed();
        throw error;
      } finally {
        opening -= 1;
        left();
      }
    },
    close: async () => {
      closed = true;
      for (const channel of running) channel.close();
      if (running.size + ending.size + opening > 0) await new Promise<void>((resolve) => (allGone = resolve));
    },
  };
}
