// Runs the demo as a program. Signals and failures end it early. In every case the stage is closed at the end.
import { createStage, Interrupted, type Stage } from './stage.ts';

const logLines = 12;

/** Runs `play` and closes the stage. The exit code is 0, 1 after a failure, or 130 after an interruption. */
export async function runOnStage(play: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = createStage();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => stage.fail(new Interrupted(`interrupted by ${signal}`)));
  process.on('uncaughtException', (error) => stage.fail(error));
  // The reader of the output has closed it, as in `npm run demo | head`.
  process.stdout.on('error', () => stage.fail(new Interrupted('the output was closed')));

  const ended = await Promise.race([play(stage), stage.failure]).then(
    () => [],
    (error: unknown) => [error],
  );
  const problems = [...ended, ...(await stage.close())];
  if (problems.length === 0) return;
  const interrupted = problems[0] instanceof Interrupted;
  for (const words of new Set(problems.map(wordsOf))) complain(`The demo ended early: ${words}`);
  for (const [program, lines] of interrupted ? [] : stage.logs) {
    if (lines.length > 0) complain(`The last lines of the ${program}:\n${lines.slice(-logLines).join('\n')}`);
  }
  // The interrupted code may still wait for something, so the process is ended explicitly.
  process.exit(interrupted ? 130 : 1);
}

const complain = (text: string): boolean => process.stderr.write(`\n${text}\n`);

function wordsOf(problem: unknown): string {
  if (!(problem instanceof Error)) return String(problem);
  return problem.cause === undefined ? problem.message : `${problem.message}: ${wordsOf(problem.cause)}`;
}
