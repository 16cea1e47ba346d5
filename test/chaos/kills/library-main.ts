// An agent with the sidecar library inside. The test asks it for one call at a time, in the format of the hook
// endpoint. It is a program of its own, so that it can be killed.
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { connect, type Permit, type Run, type Verdict } from '@tollgate/sidecar';

const { CONTROL_PLANE = '', KEY = '', SPOOL_DIR = '' } = process.env;
const say = (fields: object, message: string): void => void process.stderr.write(`${JSON.stringify({ message, ...fields })}\n`);
const gate = await connect({ controlPlane: CONTROL_PLANE, key: KEY, spoolDir: SPOOL_DIR, log: { info: say, warn: say } });

const runs = new Map<string, Run>();
const permits = new Map<string, Permit>();

interface LibraryHook {
  readonly tool_name: string;
  readonly tool_input: unknown;
  readonly session_id: string;
  readonly agent_name: string;
  readonly call_id: string;
  readonly tool_output?: unknown;
}

function runOf({ session_id: sessionId, agent_name: agent }: LibraryHook): Run {
  const run = runs.get(sessionId) ?? gate.run({ agent, tier: 'api', sessionId });
  runs.set(sessionId, run);
  return run;
}

async function decide(asked: LibraryHook): Promise<object> {
  const verdict: Verdict = await runOf(asked).decide({ tool: asked.tool_name, input: asked.tool_input });
  if (verdict.allowed) permits.set(asked.call_id, verdict);
  const { requestId } = verdict;
  return verdict.allowed
    ? { decision: 'allow', reason: verdict.decision.reason, request_id: requestId }
    : { decision: 'deny', reason: verdict.reason, request_id: requestId };
}

async function report(asked: LibraryHook): Promise<object> {
  const permit = permits.get(asked.call_id);
  if (permit === undefined) throw new Error('no such call was permitted here');
  permits.delete(asked.call_id);
  const { action } = await runOf(asked).report(permit, { output: asked.tool_output, isError: false, durationMs: 1 });
  return { action };
}

async function answer(request: IncomingMessage): Promise<object> {
  // Only the test sends requests.
  const asked: LibraryHook = JSON.parse(await text(request));
  return request.url === '/govern/tool-output' ? report(asked) : decide(asked);
}

const server = createServer((request, response) => {
  answer(request).then(
    (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    (error: unknown) => response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ error: String(error) })),
  );
});
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  void gate.close(20_000).then(() => process.exit(0));
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`  calls  http://127.0.0.1:${(server.address() as AddressInfo).port}\n`));
