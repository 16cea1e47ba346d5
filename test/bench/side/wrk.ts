// Load by wrk: one thread and kept connections, each of which sends the next request as soon as it was answered.
// Requests are written out in full, so that the load costs little; a session id in the body may change between
// requests.
//
// wrk adds times of requests that were never sent: for each request of n times the mean time it adds n - 1 shorter
// ones, as if requests came at a fixed rate (`stats_correct` of wrk 4). With one slow request in 40, a third of the
// times may be such ones. The script takes them out again, so that the percentiles are of single requests.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandOf } from './contenders.ts';

/** A placeholder in a body for the id of the session, which has the same length. */
export const sessionMark = '@session-of-this-call@@@@@@@';

export interface Request {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** How many calls share a session, where the body has one; 1: each has a new one. */
  readonly callsPerSession?: number;
}

interface Load {
  readonly connections: number;
  readonly seconds: number;
}

export interface WrkFigures {
  readonly requests: number;
  readonly perSecond: number;
  /** Of single requests, in ms. */
  readonly p50: number;
  readonly p90: number;
}

/** Throws where any request was not answered, or has a status of 400 or above. `folder` is for the script. */
export async function loadBy(request: Request, { connections, seconds }: Load, folder: string): Promise<WrkFigures> {
  const script = join(folder, `load-${randomBytes(6).toString('hex')}.lua`);
  writeFileSync(script, luaFor(request, connections));
  const { origin } = new URL(request.url);
  const args = [
    '--threads',
    '1',
    '--connections',
    `${connections}`,
    '--duration',
    `${seconds}s`,
    '--timeout',
    '10s',
    '--script',
    script,
    origin,
  ];
  const said = /^said (\{.*\})$/m.exec(await outputOf(commandOf('wrk'), args))?.[1];
  if (said === undefined) throw new Error(`wrk said nothing of ${request.url}`);
  const { requests, us, failed, timed, p50Us, p90Us } = JSON.parse(said);
  if (failed > 0 || requests === 0) throw new Error(`${failed} of ${requests} requests to ${request.url} failed`);
  if (timed !== requests) throw new Error(`wrk has times of ${timed} requests to ${request.url}, and sent ${requests}`);
  return { requests, perSecond: (requests / us) * 1e6, p50: p50Us / 1000, p90: p90Us / 1000 };
}

function luaFor(request: Request, connections: number): string {
  const whole = textOf(request);
  // ASCII without control characters except line ends: for such text JSON and Lua have the same syntax.
  const [before = '', after] = whole.split(sessionMark).map((part) => JSON.stringify(part));
  const each = request.callsPerSession ?? 1;
  // As long as the mark, so that the length of the body stays.
  const id = `string.format("${randomBytes(9).toString('hex')}%010d", math.floor(sent / ${each}))`;
  const built =
    after === undefined
      ? `local whole = ${before}\nfunction request() return whole end`
      : `local sent = 0\nlocal before, after = ${before}, ${after}\nfunction request() local id = ${id}; sent = sent + 1; return before .. id .. after end`;
  return `${built}
function done(summary, latency)
  local errors = summary.errors
  local mean = math.floor(summary.duration / math.floor(summary.requests / ${connections}))
  local times, counts, timed = {}, {}, 0
  for at = 1, #latency do
    local us, count = latency(at)
    times[at], counts[us] = us, count
  end
  -- The longest time first: nothing was added for a longer one.
  for at = #times, 1, -1 do
    local us = times[at]
    local added = us - mean
    timed = timed + counts[us]
    while us >= 2 * mean and added > mean do
      counts[added] = counts[added] - counts[us]
      added = added - mean
    end
  end
  local function percentile(share)
    local seen = 0
    for _, us in ipairs(times) do
      seen = seen + counts[us]
      if seen >= share * timed then return us end
    end
    return 0
  end
  io.write(string.format('said {"requests": %d, "us": %d, "failed": %d, "timed": %d, "p50Us": %d, "p90Us": %d}\\n', summary.requests, summary.duration,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout, timed, percentile(0.5), percentile(0.9)))
end
`;
}

function textOf({ url, headers, body }: Request): string {
  const { host, pathname } = new URL(url);
  const all = { host, 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(body)}`, ...headers };
  return [`POST ${pathname} HTTP/1.1`, ...Object.entries(all).map(([name, value]) => `${name}: ${value}`), '', body].join('\r\n');
}

async function outputOf(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  const code = await new Promise<number | null>((done, fail) => child.once('close', done).once('error', fail));
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${text}`);
  return text;
}
