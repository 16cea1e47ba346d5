// The environment of a check: one agent, the control plane and sidecar that all share, and homes with our hooks.
import type { Driver } from './driver.ts';
import { type Home, makeHome } from './home.ts';
import type { ScriptedModel } from './model.ts';
import type { Program, Stage } from './stage.ts';

export interface Bench {
  readonly stage: Stage;
  readonly driver: Driver;
  /** The command that starts the agent. */
  readonly program: readonly string[];
  readonly model: ScriptedModel;
}

export const holds = 'holds';
export const allow = { permission: 'allow', transform: 'log' } as const;
export const deny = { permission: 'deny', transform: 'log' } as const;
export const asks = { permission: 'ask', transform: 'log' } as const;
export const redact = { permission: 'allow', transform: 'redact' } as const;

/** A home with hooks that its user has trusted; `words` are more words for `hooks install`. */
export async function installed(bench: Bench, program?: Program, ...words: readonly string[]): Promise<Home> {
  const home = await makeHome(bench);
  await install(home, bench, program ?? (await bench.stage.program()), ...words);
  await bench.driver.trust?.(home);
  return home;
}

export async function install(home: Home, { driver }: Bench, program: Program, ...words: readonly string[]): Promise<void> {
  const { code, text } = await home.tollgate(program, 'hooks', 'install', driver.host, ...words);
  if (code !== 0) throw new Error(`hooks install ${driver.host} ended with ${code}:\n${text}`);
}
