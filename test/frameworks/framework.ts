// What the tests of a framework have in common: an agent with the tool `send` of the server `mail`, which its framework
// runs, and a second agent `clerk`, to which the first hands the work.
import type { Run } from '../../sidecar/doors/library/library.ts';
import type { Model } from './model.ts';

export interface Mail {
  readonly to: string;
}

export interface Task {
  readonly model: Model;
  readonly run: Run;
  /** The tool. What it does is its side effect. */
  readonly send: (mail: Mail) => string | Promise<string>;
  /** The agent hands the work to `clerk`, which alone has the tool. */
  readonly handsOff?: boolean;
  readonly streams?: boolean;
  readonly signal?: AbortSignal;
  /** How often the framework itself calls a tool that has thrown. */
  readonly retries?: number;
  readonly onDenied?: 'throw';
}

export interface Framework {
  readonly name: string;
  /** The name under which its model calls the tool. */
  readonly tool: string;
  /** The call by which the model hands the work to `clerk`. */
  readonly handOff: { readonly tool: string; readonly input: object };
  /** Whether it can call a tool again by itself. */
  readonly retries?: true;
  /** Whether a denial that is thrown ends its agent. */
  readonly throws?: true;
  /** Returns the last text of the agent. */
  perform(task: Task): Promise<string>;
  /** Ends what it has started. */
  close?(): void;
}

export const words = 'Write to them.';
export const server = 'mail';
