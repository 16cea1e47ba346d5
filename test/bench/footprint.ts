// P11: memory of a sidecar process that holds 10,000 rules, after a load, compared with a bare process with the same
// imports after the same load.
import { compareMemory, onStage } from './gateway/around.ts';
import { postOf } from './gateway/load.ts';
import { benchKey, hookQuestion } from './gateway/said.ts';
import { judgeAmount, type Result } from './measure.ts';

const rules = 10_000;
const requests = 40_000;

export const benchFootprint = (): Promise<readonly Result[]> =>
  onStage(async (stage) => {
    const headers = { authorization: `Bearer ${benchKey}`, 'x-gs-client': 'bench/1.0' };
    const asked = (port: number) => ({ port, request: postOf(port, '/govern/tool-use', headers, hookQuestion) });
    // Four layers with a rule on each tool.
    const sidecar = await stage.sidecar({}, rules / 4);
    const bare = await stage.serve('imports');
    const { bytes, baselineBytes } = await compareMemory(stage, { subject: asked(sidecar), baseline: asked(bare), requests });
    const above = (bytes - baselineBytes) / 1024 ** 2;
    return [
      judgeAmount('P11 sidecar', above, {
        name: `P11 sidecar with ${rules.toLocaleString('en')} rules, memory`,
        value: above,
        unit: 'MB above',
        baseline: `a bare process with the same imports after the same load: ${(baselineBytes / 1024 ** 2).toFixed(0)} MB; the ratio is to 25 MB`,
      }),
    ];
  });
