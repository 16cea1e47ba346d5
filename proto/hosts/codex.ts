// Reads and answers the command hooks of Codex. Empty standard output allows the call. Codex treats an `ask`, an
// `allow` without a new input, and a denial without a reason as errors, and then runs the call. Codex accepts a
// replaced input from version 0.169.0 on. An older version would run the call with the original input. Therefore the
// input is not replaced if the version is unknown.
import { isObject } from './fields.ts';
import type { Host } from './host.ts';
import { deniesPreToolUse, denyPreToolUse, readToolUse } from './pre-tool-use.ts';

export const codex: Host = {
  name: 'codex',
  title: 'Codex',
  read: (body, _parse, version = null) => readToolUse(body, version !== null && takesInputs(version), version),
  before: {
    allow: () => '',
    // Codex reads the field `command` in the input of its own tools, so `command` must stay a text.
    takes: ({ call: { input } }, changed) =>
      isObject(changed) && (!isObject(input) || typeof input['command'] !== 'string' || typeof changed['command'] === 'string'),
    change: (_event, changed) =>
      JSON.stringify({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow', updatedInput: changed } }),
    deny: (_reason, advice) => denyPreToolUse(advice),
    denies: deniesPreToolUse,
  },
  after: {
    pass: () => '',
    takes: () => false,
    change: () => block('Codex cannot take a changed output'),
    // The model receives the reason in place of the output.
    block: (reason) => block(reason),
  },
  neutral: '',
  refusalExitCode: { before: 2, after: 0 },
};

const block = (reason: string): string => JSON.stringify({ decision: 'block', reason });

const versionForm = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})(-[0-9A-Za-z.-]+)?$/;
const firstThatTakes = [0, 169, 0] as const;

/** Returns whether this version accepts a replaced input. A pre-release version is older than its release. */
function takesInputs(version: string): boolean {
  const [, ...parts] = versionForm.exec(version) ?? [];
  const isBeforeRelease = parts[3] !== undefined;
  for (const [at, least] of firstThatTakes.entries()) {
    const part = Number(parts[at]);
    if (Number.isNaN(part) || part < least) return false;
    if (part > least) return true;
  }
  return !isBeforeRelease;
}
