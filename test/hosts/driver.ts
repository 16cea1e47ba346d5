// The properties of a coding agent that a test needs to run it for real: how it is installed, configured, started
// without a person, and described.
import type { HostName } from '@tollgate/proto/contract';
import type { WantedCall } from './model.ts';

export interface Driver {
  readonly host: HostName;
  readonly title: string;
  /** The npm package, with its exact version. */
  readonly package: { readonly name: string; readonly version: string };
  /** The name in `node_modules/.bin`, and in a user's shell. */
  readonly program: string;
  /** The version of Node, where it does not run on ours. */
  readonly node?: string;
  /** A script of the package that npm does not run automatically. */
  readonly afterInstall?: string;
  /** The call that makes its shell run a command. */
  readonly shell: (command: string) => WantedCall;
  /**
   * A call that fails with the text of this file as its error. Needed where the agent does not treat a command that
   * ends with another code than 0 as failed.
   */
  readonly failure?: (file: string) => WantedCall;
  /** Its settings in the user's home, as they are before our install; with a door, it is an MCP client of that door. */
  readonly settings: (model: string, door: McpDoor | null) => Readonly<Record<string, string>>;
  /** The name under which it offers its model a tool of the door; null: in a form that the scripted model does not have. */
  readonly doorTool: ((tool: string) => string) | null;
  /** The one of these files that receives our hooks. */
  readonly settingsFile: string;
  readonly env: (home: string, model: string) => Readonly<Record<string, string>>;
  /** The environment in which it has too little time to load hooks; absent: no such limit is known. */
  readonly lateLoad?: Readonly<Record<string, string>>;
  /** One turn, all of whose calls the user has approved. */
  readonly turn: (words: string) => readonly string[];
  /** How a user enables a new hook, and in words; absent: it runs without a step. */
  readonly trust?: (agent: StartedAgent) => Promise<void>;
  readonly trustWords?: string;
  /** The hook that its user adds after ours; and whether it is the only hook, and still trusted. */
  readonly ownHook?: { readonly text: string; readonly isTrusted: (agent: StartedAgent) => Promise<boolean> };
  /** Whether the text to its model is marked as an error, where a result and an error otherwise look the same. */
  readonly saysError?: (told: string) => boolean;
}

/** An MCP server of a sidecar, which agents know as `door`. */
export interface McpDoor {
  readonly url: string;
  readonly headers: { readonly Authorization: string };
}

/** An agent in a home of its own. */
export interface StartedAgent {
  readonly home: string;
  readonly folder: string;
  readonly program: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}
