// Tests the alert rules and the dashboard on real programs. A Prometheus scrapes a control plane and a sidecar. Their
// dependencies are killed, locked and stopped; the right alerts fire, and end after recovery. All other cases are
// tested on generated series (test/deploy/monitoring).
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mergeExported, problemsOf, readExported } from '../deploy/monitoring/promql.ts';
import { alerts, asked, readDashboard } from '../deploy/monitoring/rules.ts';
import { needs } from '../support/installed.ts';
import { eventually } from '../support/programs.ts';
import { startWatched, type WatchedPlane } from './watched.ts';

let watched: WatchedPlane;

/** The current speed of this machine is not tested. */
const ofSpeed = new Set(['TollgateDecisionsSlow', 'TollgatePolicySlow', 'TollgateLeaseDryDenials']);
const firing = async (): Promise<readonly string[]> => (await watched.prometheus.firing()).filter((alert) => !ofSpeed.has(alert));
const nothingFires = () => eventually(firing, (names) => names.length === 0);
const fires = (...wanted: readonly string[]) => eventually(firing, (names) => wanted.every((alert) => names.includes(alert)));

/** Series that do not exist while everything works, and their labels. */
const unseen = {
  tollgate_snapshots_refused_total: ['code'],
  tollgate_certificates_refused_total: ['code'],
  tollgate_conditions_undecided_total: ['document', 'path', 'reason'],
};
/** Panels, or one of their expressions, that only a failure or a feature that is not set up here fills. */
const emptyHere = new Set(['Snapshots refused', 'Certificates refused', 'Undecided conditions']);

describe('a real Prometheus', needs('prometheus'), () => {
  beforeAll(async () => {
    watched = await startWatched();
  });
  afterAll(() => watched?.close());

  test('while everything works no alert fires, and Prometheus can evaluate every rule', async () => {
    const rules = await eventually(
      () => watched.prometheus.rules(),
      (all) => all.every(({ health }) => health !== 'unknown'),
    );
    expect(rules.map(({ name }) => name).toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
    await nothingFires();
  });

  test('rules and dashboard name only metrics and labels that the programs export', async () => {
    const read = async () => mergeExported(...(await watched.readMetrics()).map(readExported));
    const isUnlabelled = (exported: Awaited<ReturnType<typeof read>>): boolean =>
      ['tollgate_runs_ended_total', 'tollgate_lease_asks_total', 'tollgate_decisions_total'].some((name) => exported.get(name) == null);
    const exported = await eventually(read, (now) => !isUnlabelled(now));
    const named = [
      ...alerts.map(({ alert, expr }) => ({ at: alert, expr })),
      ...readDashboard().panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ at: title, expr: asked(expr, '1m') }))),
    ];
    expect(named.flatMap(({ at, expr }) => problemsOf(expr, exported, unseen).map((problem) => `${at}: ${problem}`))).toEqual([]);
    expect(Object.keys(unseen).filter((name) => (exported.get(name)?.size ?? 0) > 0)).toEqual([]);
  });

  test('every panel of the dashboard has something to show', async () => {
    const panels = readDashboard().panels.filter(({ targets = [], title }) => targets.length > 0 && !emptyHere.has(title));
    const emptyOnes = async (): Promise<readonly string[]> => {
      const found = await Promise.all(
        panels.flatMap(({ title, targets = [] }) =>
          targets.map(async ({ expr }) => ({ title, expr, samples: await watched.prometheus.query(asked(expr, '10s')) })),
        ),
      );
      return found.flatMap(({ title, expr, samples }) =>
        samples.some(({ value: [, value] }) => value !== 'NaN') ? [] : [`${title}: ${expr}`],
      );
    };
    expect(await eventually(emptyOnes, (empty) => empty.length === 0, 10_000).catch(emptyOnes)).toEqual([]);
  });

  test('entries that PostgreSQL cannot accept stay in the spool, and an alert fires until PostgreSQL accepts them', async () => {
    await nothingFires();
    const client = new pg.Client(watched.postgres.connection);
    await client.connect();
    try {
      await client.query('begin');
      await client.query('lock table audit_entry in exclusive mode');
      await fires('TollgateSpoolOld', 'TollgateIngestStalled');
    } finally {
      await client.end();
    }
    await nothingFires();
  });

  test('without PostgreSQL the control plane is not ready, and after recovery it is ready again', async () => {
    await nothingFires();
    await watched.postgres.stop();
    try {
      await fires('TollgateControlPlaneNotReady', 'TollgateSpoolOld');
    } finally {
      await watched.postgres.start();
    }
    await nothingFires();
  });

  test('a killed control plane and its sidecar raise alerts until the outage rule decides; after the restart they end', async () => {
    await nothingFires();
    await watched.killPlane();
    await fires('TollgateControlPlaneDown', 'TollgateSidecarDisconnected', 'TollgatePolicyStale', 'TollgateSpoolOld');
    await fires('TollgateOutageRuleDeciding', 'TollgateControlPlaneReplicaDown');
    const told = (await watched.prometheus.rules()).flatMap((rule) => rule.alerts.map(({ annotations }) => annotations));
    expect(told.length).toBeGreaterThan(4);
    expect(told.filter(({ description = '' }) => /<no value>|error expanding|\{\{| {2}|\(\/|\/\)/.test(description))).toEqual([]);
    await watched.startPlane();
    await nothingFires();
  });
});
