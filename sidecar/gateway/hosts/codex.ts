// Codex: command hooks. Nothing on standard output allows; an `ask`, a bare `allow` and a denial without a reason are errors
// to it, after which it runs the call. An input is not replaced, since its older versions would run the call with the old one.
import type { Host } from './host.ts';
import { deniesPreToolUse, denyPreToolUse, readToolUse } from './pre-tool-use.ts';

export const codex: Host = {
  name: 'codex',
  title: 'Codex',
  read: (body) => readToolUse(body, false),
  before: {
    allow: () => '',
    takes: () => false,
    change: () => denyPreToolUse('Codex cannot take a changed input'),
    deny: (_reason, advice) => denyPreToolUse(advice),
    denies: deniesPreToolUse,
  },
  after: {
    pass: () => '',
    takes: () => false,
    change: () => block('Codex cannot take a changed output'),
    // The model gets the reason in place of the output.
    block: (reason) => block(reason),
  },
  neutral: '',
  refusalExitCode: { before: 2, after: 0 },
};

const block = (reason: string): string => JSON.stringify({ decision: 'block', reason });
