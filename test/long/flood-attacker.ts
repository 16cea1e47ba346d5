// The attacking program of flood.ts. It sends as many requests a second as its key may, over many connections and
// through all endpoints. At the end, or once no program answers any more, it prints the results. A real attacker has a
// machine of its own; here it uses only the CPU that the other programs leave.
import { setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { credentials } from '@grpc/grpc-js';
import { createExtMcpClient, type McpRequestResult } from '@tollgate/proto/mesh';
import { Pool } from 'undici';
import { type AttackOrder, attackOf, type FloodCounts, hookOf, mcpMessages } from './flood-requests.ts';

const connections = 96;
/** The lowest priority of a process; every user may set a lower one. */
const lowest = 19;
/** Consecutive failures: the program has ended. */
const failedMax = 1_000;
/** One of this many requests uses another endpoint, each in turn. */
const otherDoorEach = 8;

type FloodOutcome = 'answered' | 'refused' | null;

/** Makes requests, and returns the result of each. */
type Ask = (n: number) => Promise<readonly FloodOutcome[]>;

// Earlier versions answered this with 429.
const seenOf = (status: number, said: string): FloodOutcome =>
  status === 429 || said.includes('request_limit') ? 'refused' : status < 500 ? 'answered' : null;

/** An endpoint that HTTP callers use. */
function post({ url, key }: AttackOrder, pool: Pool): (path: string, body: string, session?: string) => Promise<FloodResponse> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return async (path, body, session) => {
    const own = session === undefined ? {} : { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
    const answer = await pool.request({ path: new URL(path, url).pathname, method: 'POST', headers: { ...headers, ...own }, body });
    const said = await answer.body.text();
    return { seen: seenOf(answer.statusCode, said), session: answer.headers['mcp-session-id'] };
  };
}

interface FloodResponse {
  readonly seen: FloodOutcome;
  readonly session: string | readonly string[] | undefined;
}

/** Asks as agentgateway does; no result is reported. */
function meshAsk(address: string, key: string): Ask {
  const client = createExtMcpClient(address, credentials.createInsecure());
  return (n) =>
    new Promise((done, fail) => {
      const headers = Object.entries({ authorization: `Bearer ${key}`, 'mcp-session-id': `g${n}` });
      client.CheckRequest(
        {
          serviceNames: [`server-${n % 1_000}`],
          method: 'tools/call',
          mcpRequest: Buffer.from(JSON.stringify({ name: `tool-${n}`, arguments: { n } })),
          headers: headers.map(([name, value]) => ({ key: name, value: Buffer.from(value) })),
          metadataContext: { fields: { tollgate_phase: { stringValue: 'full' } } },
        },
        (error: Error | null, answer: McpRequestResult | undefined) => {
          if (error !== null || answer === undefined) return fail(error ?? new Error('no answer'));
          done([answer.error?.code === 'RESOURCE_EXHAUSTED' ? 'refused' : 'answered']);
        },
      );
    });
}

function asksOf(order: AttackOrder, pool: Pool): { readonly plain: Ask; readonly others: readonly Ask[] } {
  const { doors, key, largeEach } = order;
  const send = post(order, pool);
  const plain: Ask = async (n) => [(await send('/govern/tool-use', attackOf(n, largeEach))).seen];
  if (doors === null) return { plain, others: [] };
  const { mcpServer, mesh } = doors;
  const mcp: Ask = async (n) => {
    const { initialize, call } = mcpMessages(n);
    const begun = await send(`/mcp/${mcpServer}`, initialize);
    if (typeof begun.session !== 'string') return [begun.seen];
    return [begun.seen, (await send(`/mcp/${mcpServer}`, call, begun.session)).seen];
  };
  const hook: Ask = async (n) => [(await send('/hooks/claude-code', hookOf(n))).seen];
  return { plain, others: [hook, ...(mcpServer === null ? [] : [mcp]), ...(mesh === null ? [] : [meshAsk(mesh, key)])] };
}

async function attack(order: AttackOrder): Promise<FloodCounts> {
  const { url, requestsPerSecond, minutes, largeEach } = order;
  const pool = new Pool(url, { connections });
  const { plain, others } = asksOf(order, pool);
  const began = performance.now();
  const seconds = (): number => (performance.now() - began) / 1_000;
  const seen = { sent: 0, answered: 0, refused: 0, failed: 0 };
  let failedInRow = 0;
  const askOnce = async (): Promise<void> => {
    seen.sent += 1;
    const n = seen.sent;
    const goesElsewhere = others.length > 0 && n % otherDoorEach === 1 && n % largeEach !== 0;
    const ask = (goesElsewhere ? others[Math.floor(n / otherDoorEach) % others.length] : undefined) ?? plain;
    try {
      const all = await ask(n);
      failedInRow = 0;
      seen.sent += all.length - 1;
      for (const one of all) if (one !== null) seen[one] += 1;
    } catch {
      seen.failed += 1;
      failedInRow += 1;
      await delay(5);
    }
  };
  const askOn = async (): Promise<void> => {
    while (seconds() < minutes * 60 && failedInRow < failedMax) {
      if (seen.sent > seconds() * requestsPerSecond) await delay(2);
      else await askOnce();
    }
  };
  await Promise.all(Array.from({ length: connections }, askOn));
  await pool.close().catch(() => undefined);
  return seen;
}

setPriority(lowest);
const order: AttackOrder = JSON.parse(process.argv[2] ?? '');
process.stdout.write(JSON.stringify(await attack(order)), () => process.exit(0));
