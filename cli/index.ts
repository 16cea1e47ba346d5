// Exports what other command-line programs share with `tollgate`: its printer, its errors and its world.
// `tollgate-control-plane` (start, restore, recover) uses them, so that both programs print in the same way.
export { act, type Asked, type Cli, type ExitCode } from './command.ts';
export { Failure } from './failure.ts';
export { worldOfProcess } from './process-world.ts';
export { createBaseProgram, runProgram } from './run-program.ts';
export type { World } from './world.ts';
