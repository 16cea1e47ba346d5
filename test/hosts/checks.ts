// The checks of each coding agent. A check creates a home, installs our hooks as a user does, and makes the agent run
// one command. A file that the command would have written, and what reached the model, show the result: `holds`, or a
// text for what does not.
import { join } from 'node:path';
import { deniedThenMade, doctorHeld, heldThenMade, lateHook, mcpWaits, unanswered } from './ask-checks.ts';
import { allow, type Bench, deny, holds, install, installed, redact } from './bench.ts';
import type { Driver } from './driver.ts';
import { type Home, makeHome } from './home.ts';
import { leftBehind } from './left-behind.ts';

/** In the order of the table, with the titles of the table. */
export const checkTitles = {
  deny: 'a denied call does not run',
  reason: 'the reason reaches the model',
  'redact-in': 'an input is redacted',
  'redact-out': 'an output is redacted',
  'failed-call': 'the error of a failed call is redacted',
  'sidecar-down': 'the sidecar is down: no call runs',
  'sidecar-hangs': 'the sidecar hangs: no call runs',
  'program-gone': 'the program of the hook is gone: no call runs',
  untrusted: 'a hook that was just installed denies',
  daemon: 'hooks installed after a session deny in the next one, also in another home, whatever that session left running',
  'late-load': 'the hooks are not loaded in time',
  doctor: '`doctor` tells each of these',
  uninstall: '`uninstall` leaves nothing',
  ask: 'a call that a person approved is made, once',
  'ask-held': 'a call waits in its hook, and is made when a person approves it',
  'ask-unanswered': 'no person answers while the hook waits: the call does not run',
  'late-hook': 'a hook that never answers, as installed',
  'doctor-held': '`doctor --held` proves that a held call does not run',
  'mcp-ask': 'as a client of the MCP proxy: a call waits for a person, with progress',
} as const;
export type CheckName = keyof typeof checkTitles;
export const isCheck = (name: string): name is CheckName => Object.hasOwn(checkTitles, name);
export const checkNames: readonly CheckName[] = Object.keys(checkTitles).filter(isCheck);

const note = 'note.txt';
const secret = 'bob@acme-mail.eu';
const line = (text: string): string => `to ${text}, door 7`;
const writesNote = `printf %s '${line(secret)}' > ${note}`;

export const checks: Readonly<Record<CheckName, (bench: Bench) => Promise<string>>> = {
  deny: async (bench) => {
    // Without a denial the call runs, so that a missing file means a denial.
    await bench.stage.policy(allow);
    const allowed = await installed(bench);
    const { told } = await allowed.turn(writesNote);
    if ((await allowed.read(note)) !== line(secret)) return `a call that is allowed does not run: ${told}`;
    await bench.stage.policy(deny);
    return blocks(await installed(bench));
  },
  reason: async (bench) => {
    await bench.stage.policy(deny);
    const { told } = await (await installed(bench)).turn(writesNote);
    return told !== null && told.includes('policy_denied') ? holds : 'the model does not read why';
  },
  'redact-in': async (bench) => {
    await bench.stage.policy(redact);
    const home = await installed(bench);
    const { told } = await home.turn(writesNote);
    const written = await home.read(note);
    if (written === null) return told?.includes('redaction_unsupported') === true ? 'the call is denied' : `the call does not run: ${told}`;
    return written === line('[redacted:email#1]') ? holds : `the call runs with ${JSON.stringify(written)}`;
  },
  'redact-out': async (bench) => {
    await bench.stage.policy(redact);
    const home = await installed(bench);
    await home.write('secret.txt', line(secret));
    const { told } = await home.turn(`printf ran > ${note}; cat secret.txt`);
    if ((await home.read(note)) !== 'ran') return `the call does not run: ${told}`;
    return outcomeOf(told, bench.driver);
  },
  'failed-call': async (bench) => {
    await bench.stage.policy(redact);
    const home = await installed(bench);
    await home.write('secret.txt', line(secret));
    const { told } = await home.turn(bench.driver.failure?.(join(home.folder, 'secret.txt')) ?? 'cat secret.txt; exit 3');
    return outcomeOf(told, bench.driver);
  },
  'sidecar-down': async (bench) => {
    await bench.stage.policy(allow);
    const home = await installed(bench);
    return bench.stage.without('down', () => blocks(home));
  },
  'sidecar-hangs': async (bench) => {
    await bench.stage.policy(allow);
    const home = await installed(bench);
    return bench.stage.without('hangs', () => blocks(home));
  },
  'program-gone': async (bench) => {
    await bench.stage.policy(allow);
    const ours = await bench.stage.program();
    const home = await installed(bench, ours);
    await ours.remove();
    return blocks(home);
  },
  untrusted: async (bench) => {
    await bench.stage.policy(deny);
    const home = await makeHome(bench);
    await install(home, bench, await bench.stage.program());
    const found = await blocks(home);
    return found === holds || bench.driver.trust === undefined
      ? found
      : `the call runs until its user has trusted the hook (${bench.driver.trustWords})`;
  },
  daemon: afterSession,
  'late-load': lateLoad,
  doctor: doctorTells,
  uninstall: leftBehind,
  ask: deniedThenMade,
  'ask-held': heldThenMade,
  'ask-unanswered': unanswered,
  'late-hook': lateHook,
  'doctor-held': doctorHeld,
  'mcp-ask': mcpWaits,
};

/** A session without hooks may leave a process that serves later ones. It is ended only after the check. */
async function afterSession(bench: Bench): Promise<string> {
  await bench.stage.policy(deny);
  const used = await makeHome(bench);
  const { told } = await used.turn(`printf %s first > first.txt`);
  if ((await used.read('first.txt')) !== 'first') return `a call without hooks does not run: ${told}`;
  await install(used, bench, await bench.stage.program());
  await bench.driver.trust?.(used);
  if ((await blocks(used)) !== holds) return 'the call runs in the same home';
  return (await blocks(await installed(bench))) === holds ? holds : 'the call runs in another home';
}

async function lateLoad(bench: Bench): Promise<string> {
  const { stage, driver } = bench;
  const { lateLoad: late } = driver;
  if (late === undefined) return 'not run: no such limit is known';
  await stage.policy(deny);
  const env: Driver['env'] = (home, model) => ({ ...driver.env(home, model), ...late });
  return blocks(await installed({ ...bench, driver: { ...driver, env } }));
}

async function blocks(home: Home): Promise<string> {
  await home.turn(writesNote);
  return (await home.read(note)) === null ? holds : 'the call runs';
}

function outcomeOf(told: string | null, { saysError }: Driver): string {
  if (told === null) return 'nothing reaches the model';
  if (told.includes(secret)) return 'the model reads it as it was';
  if (!told.includes('door 7')) return told.includes('redaction_unsupported') ? 'withheld: the model reads why' : `the model reads ${told}`;
  return saysError?.(told) === true ? 'the model reads the redacted text as an error' : holds;
}

/**
 * doctor reports success where hooks work, and a failure where a call would run without a question, or no call would
 * run.
 */
async function doctorTells(bench: Bench): Promise<string> {
  const { stage, driver } = bench;
  await stage.policy(allow);
  const [gone, ours] = [await stage.program(), await stage.program()];
  const [well, lost] = [await installed(bench, ours), await installed(bench, gone)];
  await gone.remove();
  const isWell = async (home: Home): Promise<boolean> => (await home.tollgate(ours, 'doctor')).code === 0;
  const missed: string[] = [];
  if (!(await isWell(well))) missed.push('that all is well');
  if (await stage.without('down', () => isWell(well))) missed.push('that the sidecar is down');
  if (await stage.without('hangs', () => isWell(well))) missed.push('that the sidecar hangs');
  if (await isWell(lost)) missed.push('that the program is gone');
  if (driver.trust !== undefined) {
    const fresh = await makeHome(bench);
    await install(fresh, bench, ours);
    if (await isWell(fresh)) missed.push('that the hook is not trusted');
  }
  return missed.length === 0 ? holds : `it does not tell ${missed.join(', ')}`;
}
