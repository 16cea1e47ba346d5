// P4: `POST /govern/tool-use` on the sidecar process, whose entries are shipped to a control plane that only
// acknowledges them, compared with a bare fastify route that parses the same body and answers as many bytes.
import { compareServers, onStage } from './gateway/around.ts';
import { postOf } from './gateway/load.ts';
import { benchKey, hookQuestion } from './gateway/said.ts';
import { judge, type Result } from './measure.ts';

export const benchHooks = (): Promise<readonly Result[]> =>
  onStage(async (stage) => {
    const headers = { authorization: `Bearer ${benchKey}`, 'x-gs-client': 'bench/1.0' };
    const asked = (port: number) => ({ port, request: postOf(port, '/govern/tool-use', headers, hookQuestion) });
    const { perSecond, share, p50, baselineP50 } = await compareServers(asked(await stage.sidecar()), asked(await stage.serve('hooks')), {
      ms: 2_000,
      rounds: 5,
    });
    const baseline = 'a bare fastify route that parses the same body';
    return [
      judge('P4 requests', { name: 'P4 hook endpoint, requests', value: perSecond, unit: '/s', baseline, ratio: share }),
      judge('P4 p50', {
        name: 'P4 hook endpoint, p50 added at a quarter of capacity',
        value: p50 - baselineP50,
        unit: 'ms',
        baseline: `${baseline}: ${baselineP50.toPrecision(3)} ms`,
        ratio: (p50 - baselineP50) / baselineP50,
      }),
    ];
  });
