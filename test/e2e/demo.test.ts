// `npm run demo`, as a new user types it after a build: it runs to its end, and leaves nothing behind.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { ask, eventually } from '../support/programs.ts';

const program = fileURLToPath(new URL('../../sidecar/dist/examples/demo/main.js', import.meta.url));

interface DemoEnd {
  readonly code: number | null;
  readonly output: string;
  readonly problems: string;
  /** How many processes it had, including itself. */
  readonly processes: number;
  readonly filesLeft: readonly string[];
}

/** Throws where a process of the demo survives it. `onOutput` receives all output so far. */
async function runDemo(
  onOutput: (output: string, demo: ChildProcess) => void = () => undefined,
  args: readonly string[] = [],
): Promise<DemoEnd> {
  const temporary = mkdtempSync(join(tmpdir(), 'tollgate-e2e-'));
  onTestFinished(() => rmSync(temporary, { recursive: true, force: true }));
  // A database and a key of the user: a demo must not touch them.
  const theirs = { DATABASE_URL: 'postgres://absent@127.0.0.1:1/nothing', TOLLGATE_OWNER_KEY: 'theirs' };
  const demo = spawn(process.execPath, [program, ...args], { env: { ...process.env, ...theirs, TMPDIR: temporary } });
  const family = new Set([demo.pid ?? 0]);
  let output = '';
  let problems = '';
  demo.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    for (const { pid, parent } of processes()) if (family.has(parent)) family.add(pid);
    onOutput(output, demo);
  });
  demo.stderr.setEncoding('utf8').on('data', (text: string) => {
    problems += text;
  });
  await once(demo, 'close');
  // No process survives it; a killed one may take a moment to end.
  const survivors = () => processes().filter(({ pid, state }) => family.has(pid) && !state.startsWith('Z'));
  await eventually(
    async () => survivors(),
    (found) => found.length === 0,
    2_000,
  );
  return {
    code: demo.exitCode,
    output,
    problems,
    processes: family.size,
    filesLeft: readdirSync(temporary),
  };
}

/** Parents before their children, as pids are given out. */
function processes() {
  const { stdout } = spawnSync('ps', ['-eo', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' });
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, state, command] = /^ *(\d+) +(\d+) +(\S+) +(.*)$/.exec(line) ?? [];
    return pid === undefined || state === undefined || command === undefined
      ? []
      : [{ pid: Number(pid), parent: Number(parent), state, command }];
  });
}

/** `agent tool decision · layer`, without time and latency. */
const rowsOf = (text: string): readonly string[] =>
  text.split('\n').flatMap((line) => {
    const [, agent, tool, decision, layer] =
      /^\d\d:\d\d:\d\d\.\d{3} (\S+) +(?:everything\.)?(\S+) +(\S+(?: [a-z_]+)?) +(\S.*?) +\d+$/.exec(line) ?? [];
    return agent === undefined ? [] : [`${agent} ${tool} ${decision} | ${layer}`];
  });

const withoutLayer = (row: string): string => row.slice(0, row.indexOf(' |'));

test('the demo shows every layer decide, a change that takes effect immediately, and an audit log that holds each decision once', async () => {
  const ended = await runDemo();
  expect(ended).toMatchObject({ code: 0, problems: '', filesLeft: [] });
  expect(ended.processes).toBeGreaterThan(4);

  const [live = '', audit = ''] = ended.output.split('7  Read it back');
  // How many of the courier's lines are printed before the change reaches its sidecar depends on the machine.
  const shown = rowsOf(live).filter((row, at, rows) => !row.startsWith('courier echo allow') || rows[at - 1] !== row);
  expect(shown).toEqual([
    'scout get-structured-content allow | workspace · defaults.api',
    'scout get-structured-content allow | workspace · defaults.api',
    'scout get-structured-content DENY rate_limited | role · tools["…"].api',
    'scout echo allow | workspace · defaults.api',
    'scout get-env DENY policy_denied | user/self · tools["…"].api',
    'scout gzip-file-as-resource allow would_deny | workspace · defaults.api',
    'scout get-tiny-image DENY agent_tools | agent profile',
    'scout get-sum DENY cap_tool_calls | agent profile',
    'clerk payments.transfer allow | workspace · case "small"',
    'clerk payments.transfer allow | workspace · tools["…"].api',
    'nightly echo allow | (HTTP: see below)',
    'courier echo allow | workspace · defaults.api',
    'courier echo DENY policy_denied | workspace · tools["…"].api',
    'nightly echo DENY policy_denied | (HTTP: see below)',
  ]);
  expect(rowsOf(audit).map(withoutLayer).toSorted()).toEqual(rowsOf(live).map(withoutLayer).toSorted());
  expect(live).toMatch(/agent type "ai-sdk::api::scout" denies/);
  expect(live).toMatch(/the tool got {"message":"Weather for \[redacted:email#1\]: cloudy"}/);
  expect(live).toMatch(/measured +denied \d+\.\d ms after the PUT was answered/);
  expect(live).toMatch(/its run ended +max_tool_calls/);
  // The terminal of the person who answers: what, for whom, why, and how much.
  const [, terminal = ''] = /\$ tollgate approvals show <id>\n([\s\S]*?)\n\n/.exec(live) ?? [];
  expect(terminal).toMatch(/^ {2}approval +\S+ +pending$/m);
  expect(terminal).toMatch(/^ {2}tool +payments\.transfer$/m);
  expect(terminal).toMatch(/^ {2}on behalf of mia, session /m);
  expect(terminal).toMatch(/^ {2}rule +workspace tools\["payments\.transfer"\]\.api: 1 of role:admin; reason: look at the recipient$/m);
  expect(terminal).toMatch(/^ {2}\| +"amount": 500,$/m);
  expect(terminal).toMatch(/\$ tollgate approvals approve <id> --yes\n {2}\S+ is approved for 1 call until \S+ \S+Z$/m);
  expect(live).toMatch(/the tool said +paid 500 to Harbour Print/);
  expect(audit.match(/approved by bob: approval \S+/g)).toHaveLength(1);
  expect(audit).toMatch(/(\d+) decisions shown, \1 recorded, each exactly once/);
  expect(ended.output).not.toContain('ada@acme-mail.eu');
  expect(ended.output).not.toContain('\x1b');
});

test('the demo stops the programs that it started when it is interrupted', async () => {
  let interrupted = false;
  const ended = await runDemo((output, demo) => {
    if (!interrupted && output.includes('6  Change policy')) interrupted = demo.kill('SIGINT');
  });
  expect(ended).toMatchObject({ code: 130, filesLeft: [] });
  expect(ended.problems.trim()).toBe('The demo ended early: interrupted by SIGINT');
});

test('with --stay the demo keeps calling tools until it is interrupted, with every outcome, and names its console', async () => {
  let looked: Promise<readonly string[]> | null = null;
  const ended = await runDemo(
    (output, demo) => {
      const [, origin, key] = /console +(http:\S+)\/console\/\n +key +(gsk_demo_\S+)\n/.exec(output) ?? [];
      if (origin === undefined || key === undefined || looked !== null) return;
      looked = untilAll(origin, key).finally(() => demo.kill('SIGINT'));
    },
    ['--stay'],
  );
  const seen = looked === null ? [] : await (looked as Promise<readonly string[]>);
  expect(seen).toEqual(expect.arrayContaining([...staying]));
  expect(ended).toMatchObject({ code: 130, filesLeft: [] });
});

/** Codes of decisions that only the agents of `--stay` cause. */
const staying = [
  'accountant approval_pending',
  'intern allowed',
  'researcher policy_denied',
  'support policy_denied',
  'support rate_limited',
] as const;

/** Waits until the log has all of them, and returns what it has. */
async function untilAll(origin: string, key: string): Promise<readonly string[]> {
  const read = async (): Promise<readonly string[]> => {
    const { body } = await ask(`${origin}/demo/admin/audit?limit=1000`, key);
    return (body['entries'] as readonly Entry[]).map(({ agentName, code, shadow }) => `${agentName} ${shadow?.code ?? code}`);
  };
  return eventually(read, (seen) => staying.every((one) => seen.includes(one)), 90_000);
}

interface Entry {
  readonly agentName: string;
  readonly code: string;
  readonly shadow?: { readonly code: string };
}
