// `npm run demo`: shows all of Tollgate in one program. To follow the demo, read `play` from top to bottom. With `--stay`
// its world keeps running at the end.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Run } from '@tollgate/sidecar';
import { runAgent, type ShownDecision, startMcpServer, watch } from './agent.ts';
import { compareDecisions, readAudit } from './audit.ts';
import { askSidecar, untilReady } from './hook.ts';
import { courier, scout } from './model.ts';
import { approve, createTransfer } from './payment.ts';
import { denyEcho, loosenOwn, makeMembersAndKeys, registerScout, workspace, writePolicies } from './policy.ts';
import { bold, fact, green, heading, note, print } from './print.ts';
import { runTollgate, startControlPlane, startSidecar } from './programs.ts';
import { createRest } from './rest.ts';
import { runOnStage } from './run-on-stage.ts';
import type { Stage } from './stage.ts';
import { stay } from './stay.ts';
import { printHeader, printRow, type Row, rowOfAnswer, rowOfEntry, rowOfVerdict } from './table.ts';

await runOnStage(play);

async function play(stage: Stage): Promise<void> {
  print(bold('Tollgate: which agent may call which tool, decided locally and recorded'));

  heading('1  Start', 'The control plane owns policy and audit log. Sidecars next to the agents decide with a copy of the policy.');
  const ownerKey = `gsk_${workspace}_${randomBytes(20).toString('hex')}`;
  const controlPlane = await startControlPlane(stage, { workspace, ownerKey });
  const rest = controlPlane.address('REST');
  const grpc = controlPlane.address('gRPC');
  fact('control plane', `${rest}, with its own PostgreSQL in a temporary folder`);
  const owner = createRest(rest, ownerKey, stage.signal);
  const keys = await makeMembersAndKeys(owner);
  const mia = createRest(rest, keys.mia, stage.signal);
  const sidecar = await startSidecar(stage, { controlPlane: grpc, key: keys.sidecar });
  const hooks = sidecar.address('hooks');
  fact('sidecar', `${new URL(hooks).origin}, a process for agents in any language`);
  const mcp = await startMcpServer(stage);
  fact('MCP server', `@modelcontextprotocol/server-everything from npm, with ${(await mcp.listTools()).tools.length} tools`);

  heading(
    '2  Write policy over REST',
    'One document for each layer, broad to specific. The strictest layer holds: no layer loosens a broader one.',
  );
  await writePolicies(owner, mia);
  await registerScout(owner);
  fact('workspace', 'personal data is redacted in every call; a payment above 100 asks an admin');
  fact('role member', 'two weather look-ups a minute');
  fact('agent type', 'scouts may not pack files; audit only, to see first what that would break');
  fact('user mia', 'none of my agents reads the environment (written by Mia herself)');
  fact('agent scout', 'five tools, six calls a run');
  const refusal = await loosenOwn(mia);
  fact('and Mia tries', `do not redact what I send: refused with ${refusal.status}`);
  note(refusal.reason);

  heading(
    '3  An agent works for Mia',
    'An AI SDK loop over MCP tools, each in run.guard(). µs: how long a call waits for its recorded decision.',
  );
  await untilReady(hooks, stage.signal);
  const connecting = connect({ controlPlane: grpc, key: keys.agents, spoolDir: join(stage.folder, 'library') });
  stage.undo(async () => (await connecting).close());
  const gate = await connecting;
  const shown: Row[] = [];
  const show = (row: Row): void => {
    shown.push(row);
    printRow(row);
  };
  const asBob = (words: readonly string[]): Promise<string> => runTollgate(stage, { rest, key: keys.bob }, words);
  const onAsked = (approvalId: string): Promise<void> => approve(asBob, approvalId).catch((error: unknown) => stage.fail(error));
  const runOf = (agent: string, onSeen: (seen: ShownDecision) => void = () => undefined): Run => {
    const seenBy = (seen: ShownDecision): void => {
      show(rowOfVerdict(agent, seen));
      onSeen(seen);
    };
    return watch(gate.run({ agent, tier: 'api', user: 'mia', client: { name: 'ai-sdk' } }), seenBy, onAsked);
  };
  printHeader('µs');
  const scoutRun = runOf('scout');
  const said = await runAgent(scoutRun, mcp, { name: 'scout', script: scout, task: 'Look up the weather and send it to Ada.' });
  print();
  fact('scout says', said);
  fact('its run ended', scoutRun.stopped ?? 'by itself');

  heading(
    '4  A person decides a call',
    'A clerk pays for Mia. The payment above 100 waits in run.guard() until an admin answers: Bob, with a key of his own.',
  );
  printHeader('µs');
  await createTransfer(runOf('clerk'))({ amount: 40, to: 'Copy Shop' });
  const receipt = await createTransfer(runOf('clerk'))({ amount: 500, to: 'Harbour Print' });
  print();
  fact('the tool said', receipt);

  heading(
    '5  The same policy behind another door',
    'A nightly job asks the sidecar process: POST /govern/tool-use. µs: the HTTP round trip.',
  );
  const asNightly = async (message: string): Promise<void> => {
    const question = { agent: 'nightly', tool: 'everything.echo', input: { message }, signal: stage.signal };
    show(rowOfAnswer(question.agent, question.tool, await askSidecar(hooks, keys.mia, question)));
  };
  printHeader('µs');
  await asNightly('Report for ada@acme-mail.eu');

  heading(
    '6  Change policy while an agent runs',
    'A courier sends line after line. After the second, the owner denies the tool for the workspace.',
  );
  printHeader('µs');
  let answeredAt = Number.POSITIVE_INFINITY;
  const after: ShownDecision[] = [];
  const courierRun = runOf('courier', (seen) => {
    if (seen.at >= answeredAt) after.push(seen);
  });
  const beforeRound = async (round: number): Promise<void> => {
    // Simulates the time that a model thinks. A real model takes a hundred times as long.
    await delay(5);
    if (round !== 2) return;
    await denyEcho(owner);
    answeredAt = performance.timeOrigin + performance.now();
  };
  await runAgent(courierRun, mcp, { name: 'courier', script: courier, task: 'Send the lines.', beforeRound });
  const denied = after.at(-1);
  if (denied === undefined || denied.verdict.allowed)
    throw new Error('the last call of the agent "courier" must be denied, but it was allowed');
  await asNightly('Report for ada@acme-mail.eu');
  print();
  fact(
    'measured',
    `denied ${(denied.at - answeredAt).toFixed(1)} ms after the PUT was answered; calls let through in between: ${after.length - 1}`,
  );

  heading(
    '7  Read it back',
    `GET /${workspace}/admin/audit: the same decisions, as the control plane keeps them. µs: to decide, in cold code.`,
  );
  await gate.close();
  await sidecar.stop();
  const entries = await readAudit(owner);
  const recorded = entries.filter(({ hookEvent }) => hookEvent === 'PreToolUse').map(rowOfEntry);
  printHeader('µs');
  recorded.forEach(printRow);
  const problems = compareDecisions(shown, recorded);
  if (problems.length > 0) throw new Error(`the audit log differs from the decisions that were shown:\n  ${problems.join('\n  ')}`);
  print();
  print(
    green(
      `  ${shown.length} decisions shown, ${recorded.length} recorded, each exactly once; and ${entries.length - recorded.length} outcomes of permitted calls.`,
    ),
  );
  if (process.argv.includes('--stay')) return stay(stage, { rest, grpc, ownerKey, owner, keys });
  fact('look', '`npm run demo -- --stay` keeps this world running, with its console');
  fact('next', '`npm start` for a control plane that stays; sidecar/examples/demo/agent.ts for an agent of yours');
}
