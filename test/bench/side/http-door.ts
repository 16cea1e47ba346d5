// S3: the HTTP proxy compared with a bare @fastify/http-proxy to the same service, and for orientation nginx and Envoy,
// each with an access log.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Row } from '../measure.ts';
import type { TargetId } from '../targets.ts';
import { type Figures, type LoadSubject, loadInTurn, rowOf, type TurnFigures, unlessMissing } from './compare.ts';
import { type Running, startEnvoy, startNginx } from './contenders.ts';
import { httpBody } from './questions.ts';
import type { SideOptions } from './side.ts';
import { type Closing, deniedRow, startBare, startControlPlane, startSidecar, withClosing } from './stage.ts';

const cpuUnit = 's of CPU a 1,000 calls';

export const benchHttpDoor = ({ tree, rounds, alone }: SideOptions): Promise<readonly Row[]> =>
  withClosing(async (closing, folder) => {
    const upstream = await startBare('upstream', '', closing);
    const plane = await startControlPlane(tree, folder, closing);
    const gateway = join(folder, 'gateway.json');
    writeFileSync(gateway, JSON.stringify({ httpTools: { orders: { url: upstream.url } } }));
    const sidecar = await startSidecar({ tree, plane, folder, env: { TOLLGATE_GATEWAY_FILE: gateway } }, closing);
    const own = { authorization: `Bearer ${sidecar.key}`, 'x-tollgate-agent': 'free', 'x-tollgate-tier': 'api' };
    const ours = {
      request: { url: `${sidecar.url}/tools/orders/tool`, headers: own, body: httpBody },
      gateway: sidecar.pid,
      rest: sidecar.delivered,
      log: { entries: plane.entries, perCall: 2 },
    };
    const loaded = ({ url, pid }: Running): LoadSubject => ({
      request: { url: `${url}/tool`, headers: { 'x-tollgate-agent': 'free' }, body: httpBody },
      gateway: pid,
    });
    const proxy = alone ? null : loaded(await startBare('proxy', upstream.url, closing));
    const results: Row[] = [];
    const row = (id: TargetId, name: string, unit: string, figure: keyof Figures, seen: TurnFigures<'proxy'>): number =>
      results.push(rowOf({ id, name, unit, figure, against: 'bare @fastify/http-proxy' }, seen.ours, seen.others.proxy));
    for (const connections of [1, 16, 64]) {
      const seen = await loadInTurn(ours, { proxy }, { connections, rounds, folder });
      row('S3 CPU', `S3 HTTP door at ${connections}, CPU`, cpuUnit, 'cpu', seen);
      if (connections === 64) row('S3 calls', `S3 HTTP door at ${connections}, calls`, '/s', 'perSecond', seen);
      if (connections === 1) row('S3 p50', `S3 HTTP door at ${connections}, p50`, 'ms', 'p50', seen);
    }
    if (!alone) results.push(...(await orientation(ours, loaded, { upstream: upstream.url, folder, closing })));
    return [...results, await deniedRow('S3 calls denied though all had capacity', sidecar)];
  });

interface Around {
  readonly upstream: string;
  readonly folder: string;
  readonly closing: Closing;
}

async function orientation(
  ours: LoadSubject,
  loaded: (running: Running) => LoadSubject,
  { upstream, folder, closing }: Around,
): Promise<readonly Row[]> {
  const nginx = await unlessMissing(async () => loaded(await startNginx(folder, upstream, closing)));
  const envoy = await unlessMissing(async () => loaded(await startEnvoy(folder, upstream, closing)));
  const seen = await loadInTurn(ours, { nginx, envoy }, { connections: 64, rounds: 1, folder });
  const compare = (against: string, theirs: Parameters<typeof rowOf>[2]): Row =>
    rowOf({ id: null, name: `S3 against ${against} at 64, CPU`, unit: cpuUnit, figure: 'cpu', against }, seen.ours, theirs);
  return [compare('nginx, access log', seen.others.nginx), compare('Envoy, RBAC and access log', seen.others.envoy)];
}
