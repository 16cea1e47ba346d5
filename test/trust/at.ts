// `node --import tsx test/trust/at.ts <commit>`: runs the attacks against the programs of an earlier commit, and
// reports which succeed. Ends with 1 where one does not succeed: its test would then prove nothing.
import { withClosing } from '../bench/side/stage.ts';
import { buildCommit } from '../bench/side/tree.ts';
import { attacks } from './attacks.ts';
import { openStage } from './stage.ts';

const [commit] = process.argv.slice(2);
if (commit === undefined) {
  process.stderr.write('say which commit: node --import tsx test/trust/at.ts dd0685b\n');
  process.exit(2);
}
process.exitCode = await withClosing(async (closing, folder) => {
  const stage = await openStage(await buildCommit(commit, closing), folder, closing);
  let failed = 0;
  for (const { name, key, succeeds } of attacks) {
    const success = await succeeds(stage);
    if (!success) failed += 1;
    process.stdout.write(`${success ? 'succeeds' : 'FAILS   '}  ${name} (${key})\n`);
  }
  process.stdout.write(`at ${commit}: ${attacks.length - failed} of ${attacks.length} attacks succeed\n`);
  return failed === 0 ? 0 : 1;
});
