// `tollgate hook <host>`: passes what a host writes on standard input to the resident sidecar, and prints its answer. A host
// starts it for every call of a tool, so it loads little and decides nothing. Where the sidecar is away, answers late or is
// no sidecar, the host is told a denial in its own words, and standard error says why.
import { request as httpRequest } from 'node:http';
import { readConnection, type Surroundings } from '../hooks/connection.ts';

export interface HookWorld extends Surroundings {
  readonly stdin: AsyncIterable<Buffer | string>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** Above the sidecar's own budget, and below the time limit of 10 s that is written into the hosts' settings. */
export const timeoutMs = 4_000;
/** What a sidecar takes. */
const inputBytesMax = 1024 * 1024;
const answerBytesMax = 16 * 1024 * 1024;

/** `answerHeader` of the sidecar's hosts: anybody may listen at the address, and an empty answer allows with some hosts. */
const answerHeader = 'x-tollgate-answer';

/** What the command line in the host's settings says of who asks. */
export interface HookSaid {
  readonly hostVersion: string | null;
  /** Empty: nothing. */
  readonly agent: string;
}

const nothingSaid: HookSaid = { hostVersion: null, agent: '' };

/** The exit code. `name` of no host is refused as the sidecar refuses it. */
export async function runHook(name: string, world: HookWorld, said: HookSaid = nothingSaid): Promise<number> {
  let text = '';
  try {
    const input = await readInput(world.stdin);
    text = input.toString('utf8');
    if (input.length > inputBytesMax) throw new Error(`the hook's input is larger than the ${inputBytesMax} bytes that a sidecar takes`);
    world.out(await askSidecar(name, input, world, said));
    return 0;
  } catch (error) {
    return refuse(name, text, error instanceof Error ? error.message : 'unknown', world);
  }
}

async function readInput(stdin: HookWorld['stdin']): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stdin) pieces.push(typeof piece === 'string' ? Buffer.from(piece) : piece);
  return Buffer.concat(pieces);
}

async function askSidecar(host: string, input: Buffer, { env, home }: HookWorld, said: HookSaid): Promise<string> {
  const connection = readConnection({ env, home });
  if ('problem' in connection) throw new Error(connection.problem);
  const { sidecar, key } = connection;
  // What a header cannot hold would come back in the words of whoever refuses it.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Error(`${connection.keyFrom} is no key`);
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': input.length,
    ...(env['CI'] === 'true' ? { 'x-tollgate-tier': 'background' } : {}),
    ...(said.hostVersion === null ? {} : { 'x-tollgate-host-version': headerText(said.hostVersion) }),
    ...(said.agent === '' ? {} : { 'x-tollgate-agent': headerText(said.agent) }),
  };
  const request = sidecar.startsWith('https:') ? (await import('node:https')).request : httpRequest;
  const { kind, text } = await new Promise<Answer>((done, fail) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const failed = (error: Error): void => fail(new Error(`the sidecar at ${sidecar} ${wordsOf(error, signal.aborted)}`));
    const sent = request(`${sidecar}/hooks/${encodeURIComponent(host)}`, { method: 'POST', headers, signal }, (response) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > answerBytesMax) sent.destroy(new Error('answered too much'));
        else pieces.push(piece);
      });
      response.on('error', failed);
      response.on('end', () => {
        const kind = response.headers[answerHeader];
        if (response.statusCode !== 200 || kind === undefined)
          fail(new Error(`what answers at ${sidecar} (${response.statusCode ?? 0}) is no sidecar that knows ${host}`));
        else if (!response.complete) failed(new Error('cut its answer off'));
        else done({ kind: String(kind), text: Buffer.concat(pieces).toString('utf8') });
      });
    });
    sent.on('error', failed);
    sent.end(input);
  });
  const problem = await problemIn(host, kind, text);
  if (problem !== null) throw new Error(`the sidecar at ${sidecar} answered ${problem}`);
  return text;
}

/** What a header cannot hold would be sent as something else. */
function headerText(text: string): string {
  if (!/^[ -~]+$/.test(text)) throw new Error('the hook was installed with a name that is no plain ASCII');
  return text;
}

interface Answer {
  readonly kind: string;
  readonly text: string;
}

/** Why it is no answer that a sidecar gives: hosts take what they cannot read for an allow. */
async function problemIn(name: string, kind: string, text: string): Promise<string | null> {
  const says = saysSomething(text);
  if (says === null) return 'what is no JSON object';
  if (passes.has(kind)) return null;
  if (!changes.has(kind) || !says) return `what does not go with ${answerHeader}: ${JSON.stringify(kind.slice(0, 20))}`;
  if (kind !== 'deny') return null;
  const { hostNamed } = await import('@tollgate/sidecar/hosts');
  return hostNamed(name)?.before.denies(text) === true ? null : `a denial that ${name} would not heed`;
}

const passes: ReadonlySet<string> = new Set(['allow', 'pass', 'none']);
const changes: ReadonlySet<string> = new Set(['change', 'deny', 'block']);

/** Whether an answer holds anything; null: it is no answer. */
function saysSomething(text: string): boolean | null {
  if (text === '') return false;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value).length > 0 : null;
  } catch {
    return null;
  }
}

function wordsOf(error: Error, late: boolean): string {
  if (late) return `did not answer within ${timeoutMs / 1_000} s`;
  return 'code' in error ? `cannot be reached (${String(error.code)})` : error.message;
}

async function refuse(name: string, text: string, problem: string, world: HookWorld): Promise<number> {
  // Only now: most calls need nothing of it.
  const { hostNamed, readEvent, refuseEvent } = await import('@tollgate/sidecar/hosts');
  const host = hostNamed(name);
  if (host === null) {
    world.err('tollgate: the host must be claude-code, codex, cursor, gemini-cli, copilot-cli, opencode or cline; the call is denied\n');
    return 2;
  }
  const event = readEvent(host, text);
  world.out(refuseEvent(host, event, `outage: ${problem}`));
  if (event.phase === 'other') return 0;
  const after = event.phase === 'after' || (event.phase === 'unreadable' && event.after);
  world.err(`tollgate: ${problem}; ${after ? 'the output is withheld' : 'the call is denied'}\n`);
  return host.refusalExitCode[after ? 'after' : 'before'];
}
