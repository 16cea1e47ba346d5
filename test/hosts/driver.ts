// What a test has to know of a coding agent to run it for real: how it is installed, configured, started without a person, and told of.
import type { HostName } from '@tollgate/proto/contract';
import type { WantedCall } from './model.ts';

export interface Driver {
  readonly host: HostName;
  readonly title: string;
  /** Of npm, with its exact version. */
  readonly package: { readonly name: string; readonly version: string };
  /** In `node_modules/.bin`, and as a user's shell knows it. */
  readonly program: string;
  /** Of Node, where it does not run on ours. */
  readonly node?: string;
  /** A script of the package that npm does not run by itself. */
  readonly afterInstall?: string;
  /** The call that has its shell run a command. */
  readonly shell: (command: string) => WantedCall;
  /** A call that fails with the text of this file for an error, where a command that ends with another code than 0 has not failed to it. */
  readonly failure?: (file: string) => WantedCall;
  /** Its settings in the user's home, as a user has them before we come. */
  readonly settings: (model: string) => Readonly<Record<string, string>>;
  /** The file among them that our hooks go to. */
  readonly settingsFile: string;
  readonly env: (home: string, model: string) => Readonly<Record<string, string>>;
  /** One turn, all of whose calls the user has agreed to. */
  readonly turn: (words: string) => readonly string[];
  /** How a user makes it run a new hook, and in words; absent: it runs it. */
  readonly trust?: (agent: Started) => Promise<void>;
  readonly trustWords?: string;
  /** What its user adds behind our hooks: one of their own; and whether it is the only hook, and still trusted. */
  readonly ownHook?: { readonly text: string; readonly isTrusted: (agent: Started) => Promise<boolean> };
  /** Whether what its model is told is said to be an error, where a result and an error read alike otherwise. */
  readonly saysError?: (told: string) => boolean;
}

/** An agent in a home of its own. */
export interface Started {
  readonly home: string;
  readonly folder: string;
  readonly program: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}
