// The checks about calls that wait for a person, who answers at a second terminal. A file to which each call appends a
// line shows how often the call ran.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { allow, asks, type Bench, holds, installed } from './bench.ts';
import { makeHome, type TurnEnd } from './home.ts';
import { tapDoor } from './tapped-door.ts';

const note = 'note.txt';
const appends = `echo made >> ${note}`;
const isPending = (told: string | undefined): boolean => told?.includes('approval_pending') === true;

/** The call is denied at once and made once it is approved; the next one is asked about again. */
export async function deniedThenMade(bench: Bench): Promise<string> {
  const { stage, driver } = bench;
  await stage.policy(asks);
  await stage.person.clear();
  const home = await installed(bench, undefined, '--wait', '0');
  const seen: (string | null)[] = [];
  let id = '';
  const { results, text } = await home.turn(appends, {
    times: 3,
    between: async (made) => {
      seen.push(await home.read(note));
      if (made > 1) return;
      id = await stage.person.asked();
      await stage.person.approve(id);
    },
  });
  const [first, second, third] = results;
  if (seen[0] !== null) return `the call runs before a person has answered: ${text.slice(-3_000)}`;
  if (!isPending(first)) return `the model does not read that a person is asked, but ${first}`;
  if (seen[1] !== 'made\n') return `${driver.title} does not run the approved call: ${second}`;
  if ((await home.read(note)) !== 'made\n') return 'the call runs twice';
  if (!isPending(third)) return `the third call is not asked about: ${third}`;
  return (await stage.person.state(id)) === 'used' ? holds : 'the approval is not used';
}

/** A person answers while the hook waits: the call is held, and then made, without a denial. */
export async function heldThenMade(bench: Bench): Promise<string> {
  const { stage } = bench;
  await stage.policy(asks);
  await stage.person.clear();
  const home = await installed(bench);
  const { told } = await whileAnswered(bench, home.turn(appends), (id) => stage.person.approve(id));
  const written = await home.read(note);
  if (written === null) return isPending(told ?? '') ? 'the call is denied at once, and not held' : `the call does not run: ${told}`;
  return written === 'made\n' ? holds : `the call runs more than once: ${written}`;
}

/** No person answers while the hook waits. */
export async function unanswered(bench: Bench): Promise<string> {
  const { stage } = bench;
  await stage.policy(asks);
  await stage.person.clear();
  const home = await installed(bench);
  const { told } = await home.turn(appends);
  if ((await home.read(note)) !== null) return 'the call runs';
  return isPending(told ?? '') ? holds : `the model does not read that a person is asked, but ${told}`;
}

/** What the agent does with a hook that never answers, and when. */
export async function lateHook(bench: Bench): Promise<string> {
  const { stage } = bench;
  await stage.policy(allow);
  const program = await stage.program();
  const home = await installed(bench, program);
  const startedAt = await program.hang();
  const { toldAt } = await home.turn(appends);
  const from = await startedAt();
  if (from === null) throw new Error('the hook was not started');
  const what = (await home.read(note)) === null ? 'the call does not run' : 'the call runs';
  return `${toldAt === null ? 'the turn ends' : whenWords(toldAt - from)}: ${what}`;
}

/** The hook ends by itself after 100 s. Rounded, because a busy machine starts programs late. */
function whenWords(ms: number): string {
  const seconds = Math.round(ms / 5_000) * 5;
  if (seconds >= 95) return 'not before the program of the hook ends';
  return seconds < 10 ? 'within 8 s' : `after ${seconds} s`;
}

/** `doctor --held` on the settings as install wrote them, and on a limit of the host that is too short. */
export async function doctorHeld(bench: Bench): Promise<string> {
  const { stage, driver } = bench;
  await stage.policy(allow);
  const program = await stage.program();
  const home = await installed(bench, program);
  const well = await home.tollgate(program, 'doctor', '--held');
  if (well.code !== 0) return `it reports what install wrote: ${well.text}`;
  if (!/a held call was denied at the end of the wait, and .*when no answer came/.test(well.text)) return `it proves nothing: ${well.text}`;
  if (!(await shortenLimit(join(home.home, driver.settingsFile)))) return `${holds}; its settings have no limit`;
  const short = await home.tollgate(program, 'doctor', '--held');
  return short.code === 1 && short.text.includes('A CALL WOULD RUN if ') ? holds : `it does not tell a limit of 10 s: ${short.text}`;
}

/** Sets each limit of 60 s in these settings to 10 s; false: there is none. */
async function shortenLimit(path: string): Promise<boolean> {
  const text = await readFile(path, 'utf8');
  const shorter = text.replaceAll(/(timeout(?:Sec)?"?\s*[:=]\s*)60(0{3})?\b/g, '$110$2');
  await writeFile(path, shorter);
  return shorter !== text;
}

/** The agent as the client of the sidecar's MCP door: it waits while a person is asked, and gets the answer of the tool. */
export async function mcpWaits(bench: Bench): Promise<string> {
  const { stage, driver } = bench;
  const { doorTool } = driver;
  if (doorTool === null) return 'not run: the scripted model cannot call its tools of MCP servers';
  await stage.policy(allow, asks);
  await stage.person.clear();
  const tap = await tapDoor(`${stage.connection.TOLLGATE_SIDECAR}/mcp/notes`, stage.connection.TOLLGATE_KEY);
  try {
    const home = await makeHome(bench, tap.door);
    const call = { tool: doorTool('append'), arguments: { file: join(home.folder, note), line: 'made' } };
    const { told } = await whileAnswered(bench, home.turn(call), async (id) => {
      if (await tap.asksForProgress()) await tap.hears(`tollgate approvals show ${id}`);
      await stage.person.approve(id);
    });
    if ((await home.read(note)) !== 'made\n') return `the call does not run once: ${told}`;
    if (told?.includes('appended') !== true) return `the model reads ${told}`;
    return (await tap.asksForProgress()) ? holds : 'the call waits, without progress: the client does not ask for it';
  } finally {
    await tap.close();
  }
}

/** Answers what a turn asks during the turn. Both have ended when this returns or throws. */
async function whileAnswered({ stage }: Bench, turn: Promise<TurnEnd>, answer: (id: string) => Promise<void>): Promise<TurnEnd> {
  const [ended, answered] = await Promise.allSettled([turn, stage.person.asked().then(answer)]);
  if (ended.status === 'rejected') throw ended.reason;
  if (answered.status === 'rejected') throw new Error(`the person did not answer: ${answered.reason}; the model read ${ended.value.told}`);
  return ended.value;
}
