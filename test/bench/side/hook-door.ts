// S1: the hook endpoint, asked for an agent with caps, a new session every 40 calls, compared with OPA with its
// decision log and, for orientation, Cerbos with its audit log. The sidecar has a real control plane and PostgreSQL and
// ships its entries.
import type { Row } from '../measure.ts';
import { type Contender, loadInTurn, rowOf, unlessMissing } from './compare.ts';
import { type Running, startCerbos, startOpa } from './contenders.ts';
import { Missing } from './missing.ts';
import { cerbosRequest, hookRequest, opaRequest } from './questions.ts';
import type { SideOptions } from './side.ts';
import { type Closing, deniedRow, startControlPlane, startSidecar, withClosing } from './stage.ts';
import type { Request } from './wrk.ts';

export const benchHookDoor = ({ tree, rounds, alone }: SideOptions): Promise<readonly Row[]> =>
  withClosing(async (closing, folder) => {
    const plane = await startControlPlane(tree, folder, closing);
    const sidecar = await startSidecar({ tree, plane, folder }, closing);
    const ours = {
      request: hookRequest(sidecar, 'worker'),
      gateway: sidecar.pid,
      behind: [plane.pid],
      rest: sidecar.delivered,
      log: { entries: plane.entries, perCall: 1 },
    };
    const contenders = alone ? noContenders : await startContenders(folder, closing);
    const at = (connections: number) => ({ connections, rounds, folder });
    const many = await loadInTurn(ours, contenders, at(64));
    const one = await loadInTurn(ours, { opa: contenders.opa }, at(1));
    const opa = 'OPA, decision log to a file';
    const cpu = { unit: 's of CPU a 1,000 calls', figure: 'cpu' } as const;
    const behind = { unit: cpu.unit, figure: 'behind' } as const;
    return [
      rowOf({ id: 'S1 CPU', name: 'S1 hook endpoint at 64, CPU', ...cpu, against: opa }, many.ours, many.others.opa),
      rowOf(
        { id: 'S1 calls', name: 'S1 hook endpoint at 64, calls', unit: '/s', figure: 'perSecond', against: opa },
        many.ours,
        many.others.opa,
      ),
      rowOf({ id: 'S1 p50', name: 'S1 hook endpoint at 1, p50', unit: 'ms', figure: 'p50', against: opa }, one.ours, one.others.opa),
      rowOf({ id: 'S1 p90', name: 'S1 hook endpoint at 1, p90', unit: 'ms', figure: 'p90', against: opa }, one.ours, one.others.opa),
      rowOf(
        { id: null, name: 'S1 against Cerbos at 64, CPU', ...cpu, against: 'Cerbos, audit log to a file' },
        many.ours,
        many.others.cerbos,
      ),
      rowOf({ id: null, name: 'S1 behind it at 64, CPU', ...behind, against: '' }, many.ours, null),
      await deniedRow('S1 calls denied though all had capacity', sidecar),
    ];
  });

const noContenders = { opa: null, cerbos: null };

async function startContenders(folder: string, closing: Closing): Promise<Readonly<Record<'opa' | 'cerbos', Contender>>> {
  const loaded = (running: Running | Missing, requestOf: (url: string) => Request): Contender =>
    running instanceof Missing ? running : { request: requestOf(running.url), gateway: running.pid };
  return {
    opa: loaded(await unlessMissing(() => startOpa(folder, closing)), opaRequest),
    cerbos: loaded(await unlessMissing(() => startCerbos(folder, closing)), cerbosRequest),
  };
}
