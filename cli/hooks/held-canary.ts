// Checks what a hook does while a call waits for a person. A stand-in for the sidecar answers the test call only when the
// wait of the hook is over, with a denial; and another one never answers. In both cases the host must receive a denial
// before its own time limit: many hosts run a call whose hook is late.
import { createServer } from 'node:http';
import type { HostName } from '@tollgate/proto/contract';
import { answerHeader, hostNamed } from '@tollgate/proto/hosts';
import type { World } from '../world.ts';
import { blocks, canaryOf, runLine } from './canary.ts';
import { waitMsOf } from './handler.ts';
import { type Installed, limitSecondsFor } from './host.ts';
import { hostSettings } from './host-settings.ts';

export interface HeldProof {
  /** How long the hook waits for a person, in seconds; null: it does not say it, so a sidecar holds the call for 2 s. */
  readonly waitSeconds: number | null;
  /** How long the host waits for the hook, in seconds. */
  readonly limitSeconds: number;
  /** Whether the call is denied if the denial comes at the end of the wait. */
  readonly deniedAtEnd: boolean;
  /** Whether it is denied if no answer comes. Null: the plugin of the host denies it by itself. */
  readonly deniedIfLate: boolean | null;
}

export const isDenied = ({ deniedAtEnd, deniedIfLate }: HeldProof): boolean => deniedAtEnd && deniedIfLate !== false;

export function heldWords({ waitSeconds, limitSeconds, deniedAtEnd, deniedIfLate }: HeldProof): string {
  const limit = `the host waits ${limitSeconds} s for the hook`;
  if (!deniedAtEnd) return `A CALL WOULD RUN if a person denies it at the end of the wait: ${limit}`;
  if (deniedIfLate === false) return `A CALL WOULD RUN if no answer comes: ${limit}`;
  const wait =
    waitSeconds === null ? 'the hook names no wait, so a call waits 2 s for a person' : `a call waits ${waitSeconds} s for a person`;
  return `${wait}; a held call was denied at the end of the wait, and ${deniedIfLate === null ? 'the plugin denies' : 'was denied'} when no answer came; ${limit}`;
}

/** The wait of a sidecar if the hook names none. */
const unsaidWaitMs = 2_000;
/** The key for the stand-ins. It is no key of anything. */
const noKey = `gsk_doctor_${'0'.repeat(40)}`;

/** Returns null if the hook starts no program, or the shell of the host is not on this machine. */
export async function proveHeld(world: World, host: HostName, { way, limitSeconds }: Installed): Promise<HeldProof | null> {
  if (way.kind === 'http') return null;
  const waitMs = waitMsOf(host, way);
  const limit = limitSeconds ?? limitSecondsFor(waitMs);
  const standIn = await startStandIn(host, waitMs ?? unsaidWaitMs);
  try {
    const denies = async (path: 'held' | 'late'): Promise<boolean | null> => {
      const env = { ...world.env, TOLLGATE_SIDECAR: `${standIn.url}/${path}`, TOLLGATE_KEY: noKey };
      const ended = await runLine({ env }, host, way, { input: canaryOf(host), limitMs: limit * 1_000 });
      return ended === null ? null : blocks(host, ended);
    };
    const byPlugin = hostSettings[host].deniesByItself === true;
    const [atEnd, late] = await Promise.all([denies('held'), byPlugin ? null : denies('late')]);
    if (atEnd === null) return null;
    return { waitSeconds: waitMs === null ? null : waitMs / 1_000, limitSeconds: limit, deniedAtEnd: atEnd, deniedIfLate: late };
  } finally {
    standIn.end();
  }
}

async function startStandIn(host: HostName, waitMs: number): Promise<{ readonly url: string; readonly end: () => void }> {
  const denial = hostNamed(host)?.before.deny('held', 'the test call was held, and then denied') ?? '';
  const server = createServer((request, response) => {
    request.resume();
    if (request.url?.endsWith('/healthz') === true) return void response.end('{}');
    if (request.url?.startsWith('/held/') !== true) return;
    setTimeout(() => response.writeHead(200, { [answerHeader]: 'deny', 'content-type': 'application/json' }).end(denial), waitMs);
  });
  await new Promise<void>((done, fail) => {
    server.on('error', fail);
    server.listen(0, '127.0.0.1', done);
  });
  const address = server.address();
  const end = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`, end };
}
