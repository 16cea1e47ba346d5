// Prints the table of decisions: one row for each decision, with notes below it. A row shows a decision as its caller
// received it, or as the audit log contains it.
import { type AuditEntry, type EntryRule, type Finding, parseRulePath } from '@tollgate/proto/contract';
import type { ShownDecision } from './agent.ts';
import type { HookAnswer } from './hook.ts';
import { bold, green, note, print, red, yellow } from './print.ts';

export interface Row {
  readonly requestId: string;
  readonly at: Date;
  readonly agent: string;
  readonly tool: string;
  readonly allowed: boolean;
  /** A reason code, or the mark that says what a layer in audit mode would have done. */
  readonly code: string;
  readonly by: string;
  readonly us: number;
  readonly notes: readonly string[];
}

export function rowOfVerdict(agent: string, { at, waitedUs, verdict }: ShownDecision): Row {
  const { decision, requestId, tool, findings } = verdict;
  const notes = [
    ...(verdict.allowed ? [] : [wordsOf(decision.reason)]),
    ...(decision.shadow === null ? [] : [`audit only, so it passes: ${wordsOf(decision.shadow.reason)}`]),
    ...(verdict.allowed && findings.length > 0 ? [`${redactedWords(findings)}; the tool got ${JSON.stringify(verdict.input)}`] : []),
  ];
  return {
    requestId,
    at: new Date(at),
    agent,
    tool,
    allowed: verdict.allowed,
    code: codeOf(decision.reason),
    by: byOf(decision.rule, tool),
    us: waitedUs,
    notes,
  };
}

/** Returns the row of an answer over HTTP. Such an answer names the layer only in the text of its reason. */
export function rowOfAnswer(agent: string, tool: string, { at, waitedUs, body }: HookAnswer): Row {
  const { decision, reason, request_id, modified_input, findings } = body;
  const kinds = findings?.pii.types.join(', ') ?? '';
  const notes = [
    reason,
    ...(modified_input === undefined ? [] : [`redacted (${kinds}): modified_input ${JSON.stringify(modified_input)}`]),
  ];
  return {
    requestId: request_id,
    at: new Date(at),
    agent,
    tool,
    allowed: decision === 'allow',
    code: codeOf(reason),
    by: '(HTTP: see below)',
    us: waitedUs,
    notes,
  };
}

export function rowOfEntry(entry: AuditEntry): Row {
  const { requestId, ts, agentName, tool, decision, decisionReason, rule, latencyUs = 0, findings = [], approval } = entry;
  const notes = [
    ...(findings.length === 0 ? [] : [`${redactedWords(findings)}; stored as ${JSON.stringify(entry.input)}`]),
    ...(approval === undefined ? [] : [`approved by ${approval.by}: approval ${approval.id}`]),
  ];
  return {
    requestId,
    at: new Date(ts),
    agent: agentName,
    tool,
    allowed: decision === 'allow',
    code: codeOf(decisionReason),
    by: byOf(rule ?? null, tool),
    us: latencyUs,
    notes,
  };
}

const codeOf = (reason: string): string => reason.slice(0, reason.indexOf(':'));

/** Returns a reason without its code and its place, because these have columns of their own. */
const wordsOf = (reason: string): string => reason.slice(reason.indexOf(':') + 2).replace(/ \([^()]*\)/, '');

const redactedWords = (findings: readonly Finding[]): string =>
  `redacted (${findings.map(({ kind, count }) => `${count} ${kind}`).join(', ')})`;

/**
 * Returns the layer and the place of a rule, or the name of a case. In the place, `…` replaces the name of the tool,
 * because the row already has a column for it.
 */
function byOf(rule: EntryRule | null, tool: string): string {
  if (rule === null) return 'agent profile';
  const caseName = parseRulePath(rule.path)?.caseName ?? null;
  const place = caseName === null ? rule.path.replace(JSON.stringify(tool), '"…"') : `case ${JSON.stringify(caseName)}`;
  return `${rule.layer}${rule.part === 'self' ? '/self' : ''} · ${place}`;
}

const widths = { at: 12, agent: 7, tool: 33, decision: 19, by: 26, us: 7 };

export function printHeader(us: string): void {
  const { at, agent, tool, decision, by } = widths;
  print(
    bold(
      line(
        'time'.padEnd(at),
        'agent'.padEnd(agent),
        'tool'.padEnd(tool),
        'decision'.padEnd(decision),
        'layer · place'.padEnd(by),
        us.padStart(widths.us),
      ),
    ),
  );
}

export function printRow({ at, agent, tool, allowed, code, by, us, notes }: Row): void {
  const word = allowed ? (code === 'allowed' ? 'allow' : `allow ${code}`) : `DENY ${code}`;
  const paint = !allowed ? red : code === 'allowed' ? green : yellow;
  print(
    line(
      timeOf(at),
      agent.padEnd(widths.agent),
      tool.padEnd(widths.tool),
      paint(word.padEnd(widths.decision)),
      by.padEnd(widths.by),
      Math.round(us).toString().padStart(widths.us),
    ),
  );
  for (const text of notes) note(text, widths.at + 1);
}

const line = (...cells: readonly string[]): string => cells.join(' ');

const timeOf = (at: Date): string => at.toTimeString().slice(0, 8) + at.toISOString().slice(19, 23);
