// `tollgate hook <host>`: passes the standard input of a host to the resident sidecar, and prints the sidecar's answer.
// A host starts this program for every tool call, so it loads little code and makes no decisions. When the sidecar is
// unreachable, answers late, or is no sidecar, the program prints a denial in the host's format and writes the reason
// to standard error.
import { request as httpRequest } from 'node:http';
import { readConnection, requestFor, type Surroundings } from '../hooks/connection.ts';

export interface HookWorld extends Surroundings {
  readonly stdin: AsyncIterable<Buffer | string>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/**
 * Time limit for the sidecar's answer to a call that waits for no person. It is longer than the sidecar's own time limit,
 * and shorter than the limit in the hosts' settings.
 */
export const timeoutMs = 4_000;

/** The longest wait for a person that a sidecar accepts from a hook. */
export const waitMsMax = 3_600_000;

/** Returns the wait in a text, in ms; null: the text is no whole number up to the maximum. */
export const readWait = (text: string): number | null => (/^\d{1,7}$/.test(text) && Number(text) <= waitMsMax ? Number(text) : null);

/** Time limit for the sidecar's answer if the call may wait so long for a person. 6 s less than in the hosts' settings. */
export const limitMsFor = (waitMs: number | null): number => timeoutMs + (waitMs ?? 0);
/** The largest input that a sidecar accepts. */
const inputBytesMax = 1024 * 1024;
const answerBytesMax = 16 * 1024 * 1024;

/**
 * A header that only a sidecar sends; the same as `answerHeader` in the sidecar's code for hosts. Any program may
 * listen at the address, and some hosts treat an empty answer as an allow.
 */
const answerHeader = 'x-tollgate-answer';

/** The options about the caller, from the command line in the host's settings. */
export interface HookSaid {
  readonly hostVersion: string | null;
  /** The name of the agent; empty: not given. */
  readonly agent: string;
  /** How long a call may wait for a person, in ms, as text; null: not given. */
  readonly wait: string | null;
}

const nothingSaid: HookSaid = { hostVersion: null, agent: '', wait: null };

/** Asks the sidecar and prints its answer. Returns the exit code. If `name` is not a known host, the call is denied. */
export async function runHook(name: string, world: HookWorld, said: HookSaid = nothingSaid): Promise<number> {
  let text = '';
  try {
    const input = await readInput(world.stdin);
    text = input.toString('utf8');
    if (input.length > inputBytesMax)
      throw new Error(`the hook's input is larger than ${inputBytesMax} bytes, which is the maximum that a sidecar accepts`);
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
  // For an invalid character in a header, Node throws an error that quotes the value. The key must not be shown, so it
  // is checked here.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Error(`${connection.keyFrom} is not a valid key`);
  const waitMs = said.wait === null ? null : readWait(said.wait);
  if (said.wait !== null && waitMs === null) throw new Error(`--wait-ms must be a whole number from 0 to ${waitMsMax}`);
  const limitMs = limitMsFor(waitMs);
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': input.length,
    ...(env['CI'] === 'true' ? { 'x-tollgate-tier': 'background' } : {}),
    ...(said.hostVersion === null ? {} : { 'x-tollgate-host-version': headerText(said.hostVersion) }),
    ...(said.agent === '' ? {} : { 'x-tollgate-agent': headerText(said.agent) }),
    ...(waitMs === null ? {} : { 'x-tollgate-wait-ms': waitMs }),
  };
  const request = sidecar.startsWith('https:') ? (await import('node:https')).request : httpRequest;
  const { kind, text } = await new Promise<Answer>((done, fail) => {
    const limit = AbortSignal.timeout(limitMs);
    const { signal, end } = limitMs > timeoutMs ? whileAlive(request, sidecar, limit) : { signal: limit, end: () => undefined };
    const failed = (error: Error): void => {
      end();
      fail(new Error(`the sidecar at ${sidecar} ${wordsOf(error, limit.aborted ? limitMs : signal.aborted ? timeoutMs : null)}`));
    };
    const sent = request({ ...requestFor(sidecar, `/hooks/${encodeURIComponent(host)}`), method: 'POST', headers, signal }, (response) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > answerBytesMax) sent.destroy(new Error('sent an answer that is too large'));
        else pieces.push(piece);
      });
      response.on('error', failed);
      response.on('end', () => {
        end();
        const kind = response.headers[answerHeader];
        if (response.statusCode !== 200 || kind === undefined)
          fail(new Error(`the program at ${sidecar} (status ${response.statusCode ?? 0}) is not a sidecar that supports ${host}`));
        else if (!response.complete) failed(new Error('closed the connection before the end of its answer'));
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

/**
 * Returns a signal for a question that may wait for a person. It is aborted at the limit, and as soon as the sidecar does
 * not answer another request either: a sidecar that hangs must not hold a call as long as a person may. `end` must be
 * called when the question is answered.
 */
function whileAlive(
  request: typeof httpRequest,
  sidecar: string,
  limit: AbortSignal,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const gone = new AbortController();
  const timer = setInterval(() => {
    // Any answer shows that the sidecar lives.
    const options = { ...requestFor(sidecar, '/healthz'), signal: AbortSignal.timeout(timeoutMs) };
    const sent = request(options, (response) => void response.destroy());
    sent.on('error', () => gone.abort());
    sent.end();
  }, timeoutMs);
  return { signal: AbortSignal.any([limit, gone.signal]), end: () => clearInterval(timer) };
}

/** Returns the text if a header can contain it; throws otherwise. A header would transmit other characters wrongly. */
function headerText(text: string): string {
  if (!/^[ -~]+$/.test(text))
    throw new Error(
      'the agent name and the host version in the command of the hook must be printable ASCII; run "tollgate hooks install" again',
    );
  return text;
}

interface Answer {
  readonly kind: string;
  readonly text: string;
}

/**
 * Returns why the answer is not a valid answer of a sidecar; null: it is valid. This check is needed because hosts
 * treat an answer that they cannot read as an allow.
 */
async function problemIn(name: string, kind: string, text: string): Promise<string | null> {
  const says = saysSomething(text);
  if (says === null) return 'with a body that is not a JSON object';
  if (passes.has(kind)) return null;
  if (!changes.has(kind) || !says) return `with a body that contradicts ${answerHeader}: ${JSON.stringify(kind.slice(0, 20))}`;
  if (kind !== 'deny') return null;
  const { hostNamed } = await import('@tollgate/proto/hosts');
  return hostNamed(name)?.before.denies(text) === true ? null : `with a denial that ${name} does not understand`;
}

const passes: ReadonlySet<string> = new Set(['allow', 'pass', 'none']);
const changes: ReadonlySet<string> = new Set(['change', 'deny', 'block']);

/** Whether the answer contains any field; null: it is not a valid answer. */
function saysSomething(text: string): boolean | null {
  if (text === '') return false;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value).length > 0 : null;
  } catch {
    return null;
  }
}

/** `lateMs`: the time limit that has passed; null: none has. */
function wordsOf(error: Error, lateMs: number | null): string {
  if (lateMs !== null) return `did not answer within ${lateMs / 1_000} s`;
  return 'code' in error ? `cannot be reached (${String(error.code)})` : error.message;
}

async function refuse(name: string, text: string, problem: string, world: HookWorld): Promise<number> {
  // Loaded only here, because most calls do not need it.
  const { hostNamed, readEvent, refuseEvent } = await import('@tollgate/proto/hosts');
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
