// One call: what happened, which layer decided and why, what was kept of it, and what would allow it.
import { Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core';
import { useDocumentTitle, useHotkeys } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { useLocation, useNavigate, useParams, useSearchParams } from 'react-router';
import { ApiError } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { isDialogOpen } from '../parts/dialog.ts';
import { Foreign, ForeignJson } from '../parts/foreign.tsx';
import { outcomeOf } from '../parts/outcome.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { type CallAnswer, fetchCall } from './answer.ts';
import css from './calls.module.css';
import { curlOf } from './curl.ts';
import { Facts } from './facts.tsx';
import { ladderOf } from './ladder-of.ts';
import { LadderView } from './ladder.tsx';
import { Remedies } from './remedies.tsx';
import { SessionCard } from './session-card.tsx';
import { Verdict } from './verdict.tsx';

export function Page() {
  const { workspace, may } = useSession();
  const { requestId = '' } = useParams();
  const [params] = useSearchParams();
  const at = params.get('at');
  const close = useClose();
  useDocumentTitle('Call · Tollgate');
  useHotkeys([['Escape', () => isDialogOpen() || close()]]);
  const call = useQuery({
    queryKey: ['call', workspace, requestId],
    queryFn: () => fetchCall(workspace, requestId, at),
    // A call that runs gets its outcome later.
    refetchInterval: ({ state: { data } }) => (data !== undefined && isRunning(data) ? runningMs : false),
  });
  const { why } = may('admin.audit.read');
  if (why !== null) return <Empty title="You cannot see calls here">{why}</Empty>;
  return (
    <Stack gap="sm" maw={1_240}>
      <Group justify="space-between">
        <Button size="compact-sm" variant="subtle" onClick={close}>
          ← Back
        </Button>
      </Group>
      {call.data === undefined && call.error instanceof ApiError && call.error.status === 404 ? (
        <Unknown requestId={requestId} />
      ) : (
        <Loaded query={call} what="The call could not be read" height={480}>
          {(answer) => <Call answer={answer} />}
        </Loaded>
      )}
    </Stack>
  );
}

const Unknown = ({ requestId }: { readonly requestId: string }) => (
  <Empty title="No such call" order={1}>
    <Text size="sm">
      The log has no entry with the request id <Foreign text={requestId} max={80} />. An entry arrives a moment after its call, and is
      deleted when its retention ends.
    </Text>
  </Empty>
);

const runningMs = 3_000;
/** After this time an outcome is not expected any more. */
const reportMs = 120_000;

const isRunning = ({ before, after }: CallAnswer): boolean =>
  before !== null && after === null && before.decision === 'allow' && Date.now() - Date.parse(before.ts) < reportMs;

/** Returns to the list that the reader came from, as they left it; otherwise to the log. */
function useClose(): () => void {
  const go = useNavigate();
  const state: unknown = useLocation().state;
  const isFromList = typeof state === 'object' && state !== null && 'inConsole' in state;
  return () => void (isFromList ? go(-1) : go('/audit'));
}

function Call({ answer }: { readonly answer: CallAnswer }) {
  const { before, after, explanation, explainedAt, unexplained } = answer;
  const ladder = useMemo(() => ladderOf(answer), [answer]);
  const entry = before ?? after;
  const outcome = entry === null ? 'allow' : outcomeOf(entry);
  const isRefused = outcome !== 'allow' && outcome !== 'redact';
  return (
    <>
      <Verdict answer={answer} />
      <div className={css.columns}>
        <Stack gap="sm">
          <Card title="Why: what each layer of the policy says">
            <LadderView ladder={ladder} agent={entry?.agentName ?? ''} />
            {unexplained !== null && (
              <Text size="sm" c="var(--quiet)" className={css.sum}>
                The other layers cannot be shown: {unexplained}
              </Text>
            )}
            {explainedAt !== null && !explainedAt.isCurrent && (
              <Text size="sm" c="var(--quiet)" className={css.sum}>
                This is revision {explainedAt.revision}, by which the call was decided. The policy has changed since.
              </Text>
            )}
          </Card>
          {isRefused && entry !== null && (
            <Card title="What would allow this">
              <Remedies entry={entry} explanation={explanation} />
            </Card>
          )}
          <Kept answer={answer} />
          <SessionCard answer={answer} />
          <Repeat answer={answer} />
        </Stack>
        <Stack gap="sm" component="section" aria-label="Facts of the call">
          <Facts answer={answer} />
        </Stack>
      </div>
    </>
  );
}

function Card({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className={css.card}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** What was kept of the input and of the output. */
function Kept({ answer: { before, after } }: { readonly answer: CallAnswer }) {
  const digest = after?.outcome?.outputDigest;
  return (
    <>
      <Card title="Input, as recorded">
        {before?.input === undefined ? (
          <Text size="sm" c="var(--quiet)">
            The input was not kept{before?.inputDigest === undefined ? '.' : `, only its digest: ${before.inputDigest}`}
          </Text>
        ) : (
          <ForeignJson value={before.input} />
        )}
        {before?.inputCut === true && (
          <Text size="sm" c="var(--quiet)" mt="xs">
            It is cut: only its first 8 KiB are kept.
          </Text>
        )}
        <Findings findings={before?.findings} />
      </Card>
      {after !== null && (
        <Card title="Output">
          <Text size="sm" c="var(--quiet)" style={{ overflowWrap: 'anywhere' }}>
            Outputs are not kept.{digest !== undefined && <> The SHA-256 of this one is {digest}.</>}
          </Text>
          <Findings findings={after.findings} />
        </Card>
      )}
    </>
  );
}

function Findings({ findings = [] }: { readonly findings?: NonNullable<CallAnswer['before']>['findings'] }) {
  if (findings.length === 0) return null;
  return (
    <Text size="sm" mt="xs" c="var(--outcome-redact)">
      Found: {findings.map(({ kind, count }) => `${kind.replaceAll('_', ' ')}${count > 1 ? ` × ${count}` : ''}`).join(', ')}
    </Text>
  );
}

/** The call again, as a command. */
function Repeat({ answer: { before, after } }: { readonly answer: CallAnswer }) {
  const entry = before ?? after;
  const command = entry === null ? null : curlOf(entry, location.origin);
  if (entry === null) return null;
  return (
    <Card title="Repeat the call">
      {command === null ? (
        <Text size="sm" c="var(--quiet)">
          Not possible: the input was not kept whole.
        </Text>
      ) : (
        <Stack gap="xs" align="start">
          <Text size="sm" c="var(--quiet)">
            Asks for a decision about the same call. Put your key into <code>$KEY</code>. The log gets another entry for it
            {entry.transform === 'redact' && (entry.findings?.length ?? 0) > 0 && '; its input is the redacted one'}.
          </Text>
          <Code block w="100%" className="foreign" style={{ whiteSpace: 'pre-wrap' }} tabIndex={0}>
            {command}
          </Code>
          <CopyButton value={command}>
            {({ copied, copy }) => (
              <Button size="xs" variant="default" onClick={copy}>
                {copied ? 'Copied' : 'Copy'}
              </Button>
            )}
          </CopyButton>
        </Stack>
      )}
      <details style={{ marginTop: 10 }}>
        <summary className={css.small}>Its entries in the log, whole</summary>
        <Stack gap="xs" mt="xs">
          {before !== null && <ForeignJson value={before} />}
          {after !== null && <ForeignJson value={after} />}
        </Stack>
      </details>
    </Card>
  );
}
