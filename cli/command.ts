// Connects a command of the tree to its implementation, which receives the arguments, the options, a printer and, on
// request, a client.
import type { Command } from 'commander';
import type { Client } from './api/client.ts';
import { connect, connectAsOperator, type Globals } from './api/connect.ts';
import { createPrinter, type Printer } from './print/print.ts';
import type { World } from './world.ts';

/** 0 done, 1 failed, 2 something differs, 124 timeout, 130 interrupted. */
export type ExitCode = 0 | 1 | 2 | 124 | 130;

export interface Cli {
  readonly world: World;
  /** The exit code of the command that ran. */
  exitCode: ExitCode;
}

export interface Asked<O> {
  readonly world: World;
  /** The arguments. Commander has checked that the required ones are present. */
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
