// How a command of the tree is joined to its work: it gets its words, options, printer and, when it asks, a client.
import type { Command } from 'commander';
import type { Client } from './client.ts';
import { connect, connectAsOperator, type Globals } from './connect.ts';
import { createPrinter, type Printer } from './print.ts';
import type { World } from './world.ts';

/** 0 done, 1 could not, 2 something differs, 124 took too long, 130 interrupted. */
export type ExitCode = 0 | 1 | 2 | 124 | 130;

export interface Cli {
  readonly world: World;
  /** What the command that ran came to. */
  exitCode: ExitCode;
}

export interface Asked<O> {
  readonly world: World;
  /** The arguments; commander has seen to it that the required ones are there. */
  readonly words: readonly string[];
  readonly options: O & Globals;
  readonly print: Printer;
  readonly client: () => Promise<Client>;
  readonly operator: () => Promise<Client>;
}

export function act<O = object>(cli: Cli, run: (asked: Asked<O>) => Promise<ExitCode | void>) {
  return async function (this: Command): Promise<void> {
    const { world } = cli;
    const options = this.optsWithGlobals<O & Globals>();
    const print = createPrinter(world, options.json === true);
    const client = () => connect(world, options, print.note);
    const operator = () => connectAsOperator(world, options, print.note);
    cli.exitCode = (await run({ world, words: this.args, options, print, client, operator })) ?? 0;
  };
}
