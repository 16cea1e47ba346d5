// The facts of a call that fit in a line each: who, when, how long, and where else to look.
import { Anchor, CopyButton, UnstyledButton } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { durationWords, whoOf } from '../parts/call-row.ts';
import { Foreign } from '../parts/foreign.tsx';
import { When } from '../parts/when.tsx';
import type { CallAnswer, Entry } from './answer.ts';
import css from './calls.module.css';

export function Facts({ answer }: { readonly answer: CallAnswer }) {
  const entry = answer.before ?? answer.after;
  if (entry === null) return null;
  return (
    <>
      <section className={css.card}>
        <h2>Who</h2>
        <dl className={css.facts}>
          <Who entry={entry} />
        </dl>
      </section>
      <section className={css.card}>
        <h2>When</h2>
        <dl className={css.facts}>
          <Timing answer={answer} entry={entry} />
        </dl>
      </section>
      <section className={css.card}>
        <h2>Record</h2>
        <dl className={css.facts}>
          <Records answer={answer} entry={entry} />
        </dl>
      </section>
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** A link to the log with one filter. */
function Search({ filter, value, shown = value }: { readonly filter: string; readonly value: string; readonly shown?: string }) {
  return (
    <Anchor component={Link} inherit to={`/audit?${new URLSearchParams({ [filter]: value, last: '24h' }).toString()}`}>
      <Foreign text={shown} max={100} />
    </Anchor>
  );
}

function Who({ entry }: { readonly entry: Entry }) {
  return (
    <>
      <Fact name="Agent">
        {entry.agentId === undefined ? (
          <>
            <Search filter="agent" value={entry.agentName} /> <span className={css.quiet}>(not registered)</span>
          </>
        ) : (
          <Anchor component={Link} inherit to={`/agents/${encodeURIComponent(entry.agentId)}`}>
            <Foreign text={entry.agentName} max={100} />
          </Anchor>
        )}
      </Fact>
      <Fact name="Tier">
        {entry.agentTier}, by <Foreign text={[entry.client.name, entry.client.version ?? ''].join(' ').trim()} max={80} />
      </Fact>
      <Fact name="For">
        <Search filter="sub" value={entry.sub} shown={whoOf(entry)} />
        {entry.role !== undefined && entry.role !== '' && <span className={css.quiet}>, {entry.role}</span>}
      </Fact>
      {entry.subClaimed !== undefined && (
        <Fact name="Claimed">
          <Foreign text={entry.subClaimed} max={80} />, which its key may not name
        </Fact>
      )}
      <Fact name="Session">
        <Search filter="session" value={entry.sessionId} />
      </Fact>
      {entry.keyId !== undefined && (
        <Fact name="Key">
          <span className={css.mono}>
            <Foreign text={entry.keyId} />
          </span>
        </Fact>
      )}
      {entry.peerUid !== undefined && <Fact name="Process">of the uid {entry.peerUid}</Fact>}
    </>
  );
}

function Timing({ answer: { after }, entry }: { readonly answer: CallAnswer; readonly entry: Entry }) {
  const arrivedMs = Date.parse(entry.receivedAt) - Date.parse(entry.ts);
  return (
    <>
      <Fact name="Decided">
        <When at={entry.ts} />
      </Fact>
      {entry.latencyUs !== undefined && <Fact name="Took">{durationWords(entry.latencyUs / 1_000)}</Fact>}
      {after?.outcome !== undefined && <Fact name="Tool took">{durationWords(after.outcome.durationMs)}</Fact>}
      <Fact name="In the log">{arrivedMs < 0 ? 'before its own time' : `${durationWords(arrivedMs)} later`}</Fact>
      {entry.policyAgeMs !== undefined && <Fact name="Policy">confirmed {durationWords(Math.max(0, entry.policyAgeMs))} earlier</Fact>}
      {entry.outage === true && <Fact name="Outage">the sidecar had no contact for longer than policy allows</Fact>}
      {entry.tsClaimed !== undefined && (
        <Fact name="Claimed">
          <Foreign text={entry.tsClaimed} />, which cannot be right
        </Fact>
      )}
    </>
  );
}

function Records({ answer, entry }: { readonly answer: CallAnswer; readonly entry: Entry }) {
  const { approval, trace, more, explainedAt } = answer;
  return (
    <>
      <Fact name="Request">
        <Copied text={answer.requestId} />
      </Fact>
      {entry.revision !== undefined && (
        <Fact name="Revision">
          {entry.revision}
          {explainedAt !== null && (
            <span className={css.quiet}>{explainedAt.isCurrent ? ', in force now' : ', not in force any more'}</span>
          )}
        </Fact>
      )}
      {(approval !== null || entry.approval !== undefined) && (
        <Fact name="Approval">
          <Anchor component={Link} inherit to={`/approvals/${encodeURIComponent(approval?.id ?? entry.approval?.id ?? '')}`}>
            {approval?.state ?? 'open it'}
          </Anchor>
          {approval?.by != null && (
            <>
              , answered by <Foreign text={approval.by} max={60} />
            </>
          )}
          {approval?.note != null && approval.note !== '' && (
            <>
              : <Foreign text={approval.note} />
            </>
          )}
        </Fact>
      )}
      {trace !== null && (
        <Fact name="Trace">
          {trace.url !== null && /^https?:\/\//.test(trace.url) && (
            <Anchor href={trace.url} target="_blank" rel="noreferrer noopener" inherit>
              open ↗
            </Anchor>
          )}{' '}
          <span className={`${css.mono} ${css.quiet}`}>
            <Foreign text={trace.traceId} max={12} />
          </span>
        </Fact>
      )}
      {more > 0 && <Fact name="More">{more} further entries have the same request id</Fact>}
    </>
  );
}

function Copied({ text }: { readonly text: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <UnstyledButton onClick={copy} className={css.mono} fz={12} title="Copy">
          <Foreign text={text} max={60} /> <span className={css.quiet}>{copied ? 'copied' : 'copy'}</span>
        </UnstyledButton>
      )}
    </CopyButton>
  );
}
