// Manages the programs of one tool server. The number of concurrent programs is limited, and each belongs to the
// channel that opened it. A program without messages in either direction for `idleMs` is ended. A start fails if the
// program exits before its first message. After the second failed start in a row, the next start is delayed, because it
// would probably fail too. Each further failed start makes the delay longer, and a program that sends a message resets
// the delay. A caller that asks during the delay receives the remaining time.
import type { Clock, Timer } from '../base/clock.ts';
import { type Channel, type ChannelListener, UpstreamDown, upstreamBounds } from './upstream.ts';
import { type Command, type StartDeps, type StartedProgram, startProgram } from './program.ts';

export interface Programs {
  /** Starts a program. Rejects with an `UpstreamDown`. */
  open(listener: ChannelListener): Promise<Channel>;
  /** Ends all programs. Resolves when they have exited. No program can be opened afterwards. */
  close(): Promise<void>;
}

export interface ProgramDeps extends Pick<StartDeps, 'env'> {
  readonly clock: Pick<Clock, 'now' | 'after'>;
}

/** After this time without messages, in ms, a program is ended. No call should be silent for so long. */
const idleMs = 3_600_000;
/**
 * The delay after the second failed start in a row, in ms. It is doubled with each further failed start, up to `max`.
 */
const waitMs = { first: 1_000, max: 30_000 } as const;

export function createPrograms(deps: ProgramDeps, command: Command, max: number = upstreamBounds.programs): Programs {
  return new ServerPrograms(deps, command, max);
}

class ServerPrograms implements Programs {
  readonly #running = new Set<Channel>();
  /**
   * Programs that were asked to end and have not exited yet. They have a limit of their own: no program is started
   * while there are `max` of them.
   */
  readonly #ending = new Set<Channel>();
  #opening = 0;
  #failures = 0;
  #notBefore = 0;
  #closed = false;
  #allGone: (() => void) | null = null;
  readonly #deps: ProgramDeps;
  readonly #command: Command;
  readonly #max: number;

  constructor(deps: ProgramDeps, command: Command, max: number = upstreamBounds.programs) {
    this.#deps = deps;
    this.#command = command;
    this.#max = max;
  }

  async open(listener: ChannelListener): Promise<Channel> {
    const problem = this.#refusal();
    if (problem !== null) throw new UpstreamDown(problem);
    this.#opening += 1;
    try {
      return await this.#start(listener);
    } catch (error) {
      this.#failed();
      throw error;
    } finally {
      this.#opening -= 1;
      this.#left();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const channel of this.#running) channel.close();
    if (this.#running.size + this.#ending.size + this.#opening > 0) await new Promise<void>((resolve) => (this.#allGone = resolve));
  }

  #failed(): void {
    this.#failures += 1;
    if (this.#failures > 1) this.#notBefore = this.#deps.clock.now() + Math.min(waitMs.first * 2 ** (this.#failures - 2), waitMs.max);
  }

  #left(): void {
    if (this.#running.size + this.#ending.size + this.#opening === 0) this.#allGone?.();
  }

  #isFull(): boolean {
    return this.#running.size + this.#opening >= this.#max || this.#ending.size >= this.#max;
  }

  #refusal(): string | null {
    if (this.#closed) return 'is no longer there';
    if (this.#isFull()) return `has ${this.#max} sessions open, each a program of its own; close one, or try again later`;
    const remainingMs = this.#notBefore - this.#deps.clock.now();
    return remainingMs > 0 ? `ends as soon as it is started; it is tried again in ${Math.ceil(remainingMs / 1000)} s` : null;
  }

  async #start(listener: ChannelListener): Promise<Channel> {
    let started: StartedProgram | null = null;
    let asked = false;
    let active = this.#deps.clock.now();
    let timer: Timer | null = null;
    const channel: Channel = {
      send: async (message) => {
        if (started === null) throw new UpstreamDown('has ended');
        active = this.#deps.clock.now();
        await started.channel.send(message);
      },
      close: () => {
        asked = true;
        if (this.#running.delete(channel)) this.#ending.add(channel);
        started?.channel.close();
      },
    };
    const watch = (): void => {
      const idle = this.#deps.clock.now() - active;
      if (idle >= idleMs) return channel.close();
      timer = this.#deps.clock.after(idleMs - idle, watch);
      timer.unref();
    };
    const heard: ChannelListener = {
      message: (bytes) => {
        active = this.#deps.clock.now();
        this.#failures = 0;
        this.#notBefore = 0;
        return listener.message(bytes);
      },
      closed: (problem) => {
        timer?.cancel();
        if (started?.hasSpoken() !== true && !asked) this.#failed();
        this.#running.delete(channel);
        this.#ending.delete(channel);
        listener.closed(problem);
        this.#left();
      },
    };
    started = await startProgram(this.#deps, this.#command, heard);
    this.#running.add(channel);
    watch();
    if (this.#closed) channel.close();
    return channel;
  }
}
