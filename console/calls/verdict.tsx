// What happened, in one sentence, with what the reader needs next below it.
import type { ReactNode } from 'react';
import { Foreign } from '../parts/foreign.tsx';
import { type Outcome, outcomeColour, outcomeOf, OutcomeSign, outcomeWords } from '../parts/outcome.tsx';
import { durationWords, reasonWords, resultOf, whoOf } from '../parts/call-row.ts';
import type { CallAnswer, Entry } from './answer.ts';
import css from './calls.module.css';
import { isDecidedByRule } from './ladder-of.ts';

const layerPhrases = {
  workspace: 'by the policy of the workspace',
  role: 'by the policy of the role',
  'agent-type': 'by the policy of this type of agent',
  user: 'by the policy of the user',
  default: 'by the built-in default',
} as const;

const shadowPhrases = {
  workspace: 'the policy of the workspace, which is in audit mode,',
  role: 'the policy of the role, which is in audit mode,',
  'agent-type': 'the policy of this type of agent, which is in audit mode,',
  user: 'the policy of the user, which is in audit mode,',
} as const;

export function Verdict({ answer }: { readonly answer: CallAnswer }) {
  const { before, after } = answer;
  const entry = before ?? after;
  if (entry === null) return null;
  const outcome = outcomeOf(entry);
  return (
    <section className={css.verdict} style={{ color: outcomeColour(outcome) }} aria-label="What happened">
      <OutcomeSign outcome={outcome} size={22} />
      <div>
        <h1 className={css.sentence}>
          <strong>
            <Foreign text={entry.agentName === '' ? 'An agent without a name' : entry.agentName} max={80} />
          </strong>{' '}
          called{' '}
          <strong className={css.mono}>
            <Foreign text={entry.tool === '' ? 'a tool without a name' : entry.tool} max={120} />
          </strong>{' '}
          for <Foreign text={whoOf(entry) || 'a caller that is not known'} max={80} />.{' '}
          <span style={{ color: outcomeColour(outcome) }}>
            {entry.approval?.by !== undefined && entry.decision === 'allow' ? (
              <>
                It was allowed because <Foreign text={entry.approval.by} max={60} /> approved it
                {outcome === 'redact' && ', and its input was redacted'}.
              </>
            ) : (
              `${sentenceOf(outcome, entry.rule !== undefined && isDecidedByRule(entry) ? ` ${layerPhrases[entry.rule.layer]}` : '')}.`
            )}
          </span>
          <Shadow answer={answer} entry={entry} />
        </h1>
        <Reason entry={entry} />
        {(entry.chain?.length ?? 0) > 1 && (
          <Line>
            Handed down: <Foreign text={(entry.chain ?? []).join(' › ')} max={300} />
          </Line>
        )}
        <Aftermath answer={answer} outcome={outcome} />
      </div>
    </section>
  );
}

/** What documents in audit mode would have made of it. */
function Shadow({ answer: { explanation }, entry: { shadow, decision } }: { readonly answer: CallAnswer; readonly entry: Entry }) {
  if (shadow === undefined) return null;
  const layer = explanation?.shadow.attributedTo.layer;
  const words = [
    ...(shadow.decision === decision ? [] : [shadow.decision === 'deny' ? 'denied' : 'allowed']),
    ...(shadow.decision === 'allow' && shadow.transform === 'redact' ? ['redacted'] : []),
  ];
  if (words.length === 0) return null;
  return (
    <>
      {' '}
      It would be {words.join(' and ')} if {layer === undefined || layer === 'default' ? 'what is in audit mode' : shadowPhrases[layer]}{' '}
      were enforced.
    </>
  );
}

function sentenceOf(outcome: Outcome, by: string): string {
  if (outcome === 'ask') return `A person was asked${by === '' ? '' : `, as set${by}`}`;
  if (outcome === 'redact') return `It was allowed${by}, and its input was redacted`;
  return `It was ${outcomeWords[outcome]}${by}`;
}

function Line({ children }: { readonly children: ReactNode }) {
  return (
    <p className={css.small} style={{ margin: '4px 0 0', color: 'var(--quiet)' }}>
      {children}
    </p>
  );
}

function Reason({ entry }: { readonly entry: Entry }) {
  return (
    <Line>
      {entry.code !== undefined && <span className={css.mono}>{entry.code}</span>} <Foreign text={reasonWords(entry)} max={600} />
    </Line>
  );
}

/** What became of a call that was allowed. */
function Aftermath({ answer: { before, after, explanation }, outcome }: { readonly answer: CallAnswer; readonly outcome: Outcome }) {
  if (before === null) return <Line>The entry of its decision is not here; only that of its outcome is.</Line>;
  if (outcome !== 'allow' && outcome !== 'redact') return null;
  const result = after === null ? null : resultOf(after);
  if (result === null) return <Line>Its outcome was not reported, or not yet.</Line>;
  const output = { pass: 'was passed on as it was', redact: 'was redacted before the agent saw it', block: 'was withheld from the agent' };
  const isRedacting = before.transform === 'redact' || explanation?.enforced.transform === 'redact';
  const isClean = isRedacting && result.action === 'pass' && (after?.findings?.length ?? 0) === 0;
  return (
    <Line>
      The tool {result.isError ? 'failed' : 'answered'} after {durationWords(result.durationMs)}; its output {output[result.action]}
      {isClean && ': nothing was found to redact'}.
    </Line>
  );
}
