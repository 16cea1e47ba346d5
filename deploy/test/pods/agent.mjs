// An agent that calls tools continuously. Before each call it asks the endpoint that injection has put into its
// environment. It writes down each question and answer before it continues: a line is in the kernel when the next one
// begins, so no kill of this process or of another removes it. On SIGTERM it continues for a while, as an agent that
// finishes its work, and ends.
import { createHash, randomUUID } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const { TOLLGATE_HOOKS_URL: hooks, TOLLGATE_KEY: key } = process.env;
const lanes = 3;
const restMs = 20;
const patienceMs = 100;
const answerMs = 15_000;
const leavingMs = 1_500;

const said = openSync('/said/calls.ndjson', 'a');
const say = (line) => writeSync(said, `${JSON.stringify(line)}\n`);
const boot = randomUUID().slice(0, 8);
let calls = 0;
let stopped = false;

// The tools are ours: only whether a call runs matters.
const tools = { 'notes.read': digest, 'notes.count': digest, 'notes.delete': digest };
const toolOf = (call) => (call % 10 === 0 ? 'notes.delete' : call % 10 === 5 ? 'notes.count' : 'notes.read');
function digest({ n }) {
  return createHash('sha256').update(n).digest('hex');
}

async function ask(hook, body) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await fetch(`${hooks}/${hook}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(answerMs),
  });
  const told = await answer.json();
  // Before a sidecar has policy it knows no key, and denies without an entry.
  const isDecided = answer.status === 200 && !told.reason?.startsWith('snapshot_missing: no policy');
  if (!isDecided) throw new Error(`${answer.status} ${JSON.stringify(told)}`);
  return told;
}

async function call(lane) {
  calls += 1;
  const tool = toolOf(calls);
  const input = { n: `${boot}-${calls}` };
  const question = { tool_name: tool, tool_input: input, session_id: `${boot}-${lane}`, agent_name: 'someone', agent_tier: 'interactive' };
  say({ event: 'asked', ...input, tool });
  const { decision, kind, request_id: requestId } = await ask('tool-use', question);
  say({ event: 'answered', ...input, decision, kind, requestId });
  if (decision !== 'allow') return;
  const { action } = await ask('tool-output', { ...question, tool_output: tools[tool](input) });
  say({ event: 'done', ...input, action });
}

async function work(lane) {
  while (!stopped) {
    await call(lane).catch(async ({ message, cause }) => {
      say({ event: 'failed', why: `${message} ${cause?.code ?? ''}` });
      await delay(patienceMs);
    });
    await delay(restMs);
  }
}

process.once('SIGTERM', () => {
  say({ event: 'leaving' });
  setTimeout(() => {
    stopped = true;
  }, leavingMs);
});
await Promise.all(Array.from({ length: lanes }, (_, lane) => work(lane)));
say({ event: 'left' });
