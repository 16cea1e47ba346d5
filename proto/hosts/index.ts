// Exports the hosts whose hooks a sidecar answers, by name. Also builds a refusal in each host's format, for an event
// about which no decision was possible.
import { claudeCode } from './claude-code.ts';
import { cline } from './cline.ts';
import { codex } from './codex.ts';
import { copilotCli } from './copilot-cli.ts';
import { cursor } from './cursor.ts';
import { geminiCli } from './gemini-cli.ts';
import type { Host, HostEvent } from './host.ts';
import { opencode } from './opencode.ts';

export { claudeCode } from './claude-code.ts';
export type { AfterEvent, Answered, BeforeEvent, Host, HostCall, HostEvent, JoinedNames, ToolOwner } from './host.ts';

const all = [claudeCode, codex, cursor, geminiCli, copilotCli, opencode, cline];
const byName: ReadonlyMap<string, Host> = new Map(all.map((host) => [host.name, host]));

export const hostNamed = (name: string): Host | null => byName.get(name) ?? null;

/**
 * The name of a tool that every sidecar denies to every host, whatever the policy is. A call of this tool shows whether
 * the host respects a denial.
 */
export const canaryTool = 'tollgate.canary';

/**
 * The name of a header that each answer of a sidecar to a hook has. Its value is the kind of the answer: `allow`,
 * `deny`, and so on. An empty answer could come from any server. The header shows that the answer comes from a sidecar.
 */
export const answerHeader = 'x-tollgate-answer';

/**
 * Returns the event in a host's input. If the input is not JSON, its text is searched for the phase, so that the event
 * can be refused in the right format.
 */
export function readEvent(host: Host, text: string): HostEvent {
  try {
    return host.read(JSON.parse(text), (inner) => inner);
  } catch {
    return unreadText(text, 'is no JSON');
  }
}

/**
 * Returns an event for an input that could not be read. It is used only for the format of a refusal, never for a
 * decision.
 */
export const unreadText = (text: string, problem: string): HostEvent => ({
  phase: 'unreadable',
  after: /"hook_event_name"\s*:\s*"(?:[Pp]ost|[Aa]fter|tool\.execute\.after")|"(?:toolResult|tool_result|tool_response)"\s*:/.test(text),
  problem,
});

/** Returns the answer for an event about which no decision was possible. */
export function refuseEvent(host: Host, event: HostEvent, reason: string): string {
  switch (event.phase) {
    case 'before':
      return host.before.deny(reason, reason);
    case 'after':
      return event.heeded ? host.after.block(reason, event.output) : host.after.pass();
    case 'unreadable':
      return event.after ? host.after.block(reason) : host.before.deny(reason, reason);
    case 'other':
      return host.neutral;
  }
}
