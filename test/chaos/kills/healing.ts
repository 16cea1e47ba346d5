// Checks what must recover without help once all faults are undone, and how fast: every sidecar holds the newest rules,
// finds a control plane that was away, and has shipped everything.
import { setTimeout as delay } from 'node:timers/promises';
import { bounds } from '@tollgate/proto/contract';
import { ask } from '../../support/programs.ts';
import type { Load } from './calls.ts';
import type { Violation } from './checker.ts';
import { planeNames } from './plan.ts';
import { freeTool, probeTools } from './rules.ts';
import { type Agents, agentNames, ownerKey, type World } from './world.ts';
import type { Writing } from './writes.ts';

export interface RecoveryReport {
  readonly violations: readonly Violation[];
  /** Recoveries that took longer than promised; valid only on a machine that does nothing else. */
  readonly late: readonly Violation[];
  /**
   * The time from the end of all faults until every sidecar decided by a rule written then: some were ordered to wait
   * before they reconnect.
   */
  readonly reconnectedMs: number;
  /** The time from then until every sidecar decided by a rule written then. */
  readonly currentMs: number;
  /** The time from then until calls were decided whose callers wait for their entries to be committed. */
  readonly committedMs: number;
  /** The time from when a killed control plane listened again until the last sidecar had a stream. */
  readonly recoveredMs: number;
  readonly shippedMs: number;
}

/**
 * A sidecar that a control plane refused for a while, for example because its database was away, waits at most half a
 * minute.
 */
const reconnectedMsMax = bounds.reconnectMs.max + 2_000;
const currentMsMax = 2_000;
const committedMsMax = 2_000;
const recoveredMsMax = 1_000;
const shippedMsMax = 30_000;
const giveUpMs = 45_000;
/** Longer than the short wait before a reconnect. */
const awayMs = 4_000;

const late = (what: string, ms: number, most: number): readonly Violation[] =>
  ms <= most ? [] : [{ invariant: 'healed', what: `${what} took ${Math.round(ms)} ms, at most ${most} are allowed` }];

/** Writes a denial on each control plane, and waits until every sidecar holds it. */
async function becomesCurrent(world: World, load: Load, writing: Writing, tools: readonly [string, string]): Promise<TimedViolations> {
  const since = performance.now();
  const found: Violation[] = [];
  for (const [at, plane] of planeNames.entries()) {
    const tool = tools[at] ?? tools[0];
    const written = await within(
      () => writing.write(plane, { [tool]: { permission: 'deny' } }),
      ({ status }) => status === 200,
    );
    const revision = written.last.revision ?? Number.POSITIVE_INFINITY;
    const health = await within(
      () => Promise.all(processes.map((name) => healthOf(world, name))),
      (all) => all.every((each) => each.revision >= revision),
    );
    const library = await within(
      () => load.call('library', tool),
      ({ heard }) => heard?.reason.startsWith('policy_denied:') === true,
    );
    for (const { isSo, last } of [written, health, library])
      if (!isSo) found.push({ invariant: 'healed', what: `not within ${giveUpMs} ms: ${JSON.stringify(last)}` });
  }
  return { ms: performance.now() - since, found };
}

/** Waits until calls through the sidecar whose callers wait for the commit on the control plane are decided again. */
async function commits(load: Load): Promise<TimedViolations> {
  const since = performance.now();
  const { isSo, last } = await within(
    () => load.call('sidecar-3', freeTool),
    ({ heard }) => heard?.decision === 'allow',
  );
  const found: Violation[] = isSo
    ? []
    : [{ invariant: 'healed', what: `nothing is committed within ${giveUpMs} ms: ${JSON.stringify(last)}` }];
  return { ms: performance.now() - since, found };
}

interface TimedViolations {
  readonly ms: number;
  readonly found: readonly Violation[];
}

/** Asks until the condition is true, or until the timeout. */
async function within<T>(question: () => Promise<T>, isSo: (answer: T) => boolean): Promise<{ readonly isSo: boolean; readonly last: T }> {
  const deadline = performance.now() + giveUpMs;
  for (;;) {
    const last = await question();
    if (isSo(last) || performance.now() > deadline) return { isSo: isSo(last), last };
    await delay(20);
  }
}

interface Health {
  readonly connected: boolean;
  readonly revision: number;
  readonly records: number;
}

const unwell: Health = { connected: false, revision: -1, records: Number.POSITIVE_INFINITY };

/** The health of a sidecar process; the library does not report it. */
async function healthOf(world: World, name: Agents): Promise<Health> {
  const url = world.agentAt(name)?.url;
  const answer = url === undefined ? null : await ask(`${url}/healthz`, ownerKey).catch(() => null);
  if (answer === null) return unwell;
  const policy = Object(answer.body['policy']);
  return {
    connected: policy['connected'] === true,
    revision: Number(policy['revision']),
    records: Number(Object(answer.body['audit'])['records']),
  };
}

const processes = agentNames.filter((name) => name !== 'library');

/** Both control planes are killed, stay down, and restart; all sidecars lead to the one that is up first. */
async function recovers(world: World): Promise<TimedViolations> {
  const [a, b] = planeNames;
  for (const name of agentNames) world.leadTo(name, a);
  for (const name of planeNames) await world.programs.get(name)?.kill();
  await delay(awayMs);
  await world.start(a);
  const since = performance.now();
  const { isSo, last } = await within(
    () => Promise.all(processes.map((name) => healthOf(world, name))),
    (all) => all.every(({ connected }) => connected),
  );
  const ms = performance.now() - since;
  await world.start(b);
  return { ms, found: isSo ? [] : [{ invariant: 'healed', what: `not connected within ${giveUpMs} ms: ${JSON.stringify(last)}` }] };
}

/** After the last call everything on disk arrives, also the entries of dead processes. */
async function ships(world: World): Promise<readonly Violation[]> {
  const since = performance.now();
  const adopters = [];
  for (const folder of world.leftFolders()) adopters.push(await world.startAdopter(folder));
  const { last: left } = await within(
    () => Promise.all(processes.map((name) => healthOf(world, name))),
    (all) => all.every(({ records }) => records === 0) || performance.now() - since > shippedMsMax,
  );
  const found: Violation[] = left.some(({ records }) => records > 0)
    ? [{ invariant: 'healed', what: `after ${shippedMsMax} ms not everything was shipped: ${JSON.stringify(left)}` }]
    : [];
  for (const program of [...agentNames.map((name) => world.programs.get(name)), ...adopters]) {
    const code = await program?.end();
    if (code !== 0) found.push({ invariant: 'healed', what: `${program?.name} ended with ${code} when it was asked to end` });
  }
  return found;
}

export async function heal(world: World, load: Load, writing: Writing): Promise<RecoveryReport> {
  const reconnected = await becomesCurrent(world, load, writing, probeTools.reconnected);
  const current = await becomesCurrent(world, load, writing, probeTools.current);
  const committed = await commits(load);
  const recovered = await recovers(world);
  await load.stop();
  await writing.stop();
  const shippingSince = performance.now();
  const shipped = await ships(world);
  return {
    late: [
      ...late('to have every sidecar back once all was healed', reconnected.ms, reconnectedMsMax),
      ...late('to be current everywhere from then on', current.ms, currentMsMax),
      ...late('to commit entries again that callers wait for', committed.ms, committedMsMax),
      ...late('to find a control plane that is back', recovered.ms, recoveredMsMax),
    ],
    violations: [...[reconnected, current, committed, recovered].flatMap(({ found }) => found), ...shipped, ...endedAlone(world)],
    reconnectedMs: reconnected.ms,
    currentMs: current.ms,
    committedMs: committed.ms,
    recoveredMs: recovered.ms,
    shippedMs: performance.now() - shippingSince,
  };
}

const endedAlone = ({ programs }: World): readonly Violation[] =>
  [...programs.values()].flatMap(({ name, endedAlone: codes }) =>
    codes.map((code): Violation => ({ invariant: 'healed', what: `${name} ended by itself with ${code}` })),
  );
