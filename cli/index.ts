// What another program of commands shares with `tollgate`: its printer, its errors and its world. The program of the
// control plane (start, restore, recover) is made with it, so that both print alike.
export { act, type Asked, type Cli, type ExitCode } from './command.ts';
export { Failure } from './failure.ts';
export { worldOfProcess } from './process-world.ts';
export { createBaseProgram, runProgram } from './run-program.ts';
export type { World } from './world.ts';
