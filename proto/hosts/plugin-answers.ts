// Writes the answers to our plugins in OpenCode and Cline. `cli/hooks/plugin-file.ts` writes these plugins. A plugin
// treats any other answer, or a missing answer, as a denial.
import { answerFields, isObject, sameSort, textIn } from './fields.ts';
import type { Host } from './host.ts';

export const pluginAnswers: Pick<Host, 'before' | 'after' | 'neutral' | 'refusalExitCode'> = {
  before: {
    allow: () => '{"decision":"allow"}',
    takes: (_event, changed) => isObject(changed),
    change: (_event, changed) => JSON.stringify({ decision: 'allow', input: changed }),
    deny: (_reason, advice) => JSON.stringify({ decision: 'deny', reason: advice }),
    denies: (answer) => {
      const fields = answerFields(answer);
      return fields.get('decision') === 'deny' && textIn(fields, 'reason') !== null;
    },
  },
  after: {
    pass: () => '{"decision":"pass"}',
    takes: ({ output }, changed) => sameSort(output, changed),
    change: (_event, changed) => JSON.stringify({ decision: 'pass', output: changed }),
    block: (reason) => JSON.stringify({ decision: 'block', reason }),
  },
  neutral: '{}',
  refusalExitCode: { before: 2, after: 0 },
};
