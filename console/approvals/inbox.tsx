// The inbox: what waits, the oldest first, so that a new question moves none under the finger. On a wide screen the
// chosen one is shown next to it; elsewhere it opens as a page.
import { Alert, Box, Group, Stack, Text, Title } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useEffect, useRef } from 'react';
import { Link, useNavigate, useSearchParams } from 'react-router';
import { type Session, useSession } from '../app/session.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { type KeyAction, KeyHints, useKeys } from '../parts/keys.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { Tag } from '../parts/tag.tsx';
import { odditiesIn, oddIn } from '../parts/unseen.ts';
import { Until } from '../parts/until.tsx';
import { AgentName } from './agent-name.tsx';
import type { usePending } from './live.ts';
import { isYours, nextOf } from './may-answer.ts';
import { answerKeys, One } from './one.tsx';
import type { Approval } from './state.tsx';
import { BriefValues } from './values.tsx';

export function Inbox({ pending }: { readonly pending: ReturnType<typeof usePending> }) {
  return (
    <Loaded query={pending} what="The approvals could not be read" height={320}>
      {({ approvals, isCut }) => <Panes approvals={approvals} isCut={isCut} />}
    </Loaded>
  );
}

interface Groups {
  /** This person may answer them. */
  readonly yours: readonly Approval[];
  /** Others must. */
  readonly others: readonly Approval[];
}

function groupsOf(approvals: readonly Approval[], session: Session): Groups {
  return {
    yours: approvals.filter((one) => isYours(one, session)),
    others: approvals.filter((one) => !isYours(one, session)),
  };
}

function Panes({ approvals, isCut }: { readonly approvals: readonly Approval[]; readonly isCut: boolean }) {
  const session = useSession();
  const go = useNavigate();
  const [asked, setAsked] = useSearchParams();
  const isWide = useMediaQuery('(min-width: 75em)', false, { getInitialValueInEffect: false });
  const { yours, others } = groupsOf(approvals, session);
  const ordered = [...yours, ...others];
  const chosen = asked.get('id') ?? (isWide ? ordered[0]?.id : undefined);
  const at = ordered.findIndex(({ id }) => id === chosen);
  const choose = (one: Approval | undefined): void => {
    if (one !== undefined) setAsked({ id: one.id }, { replace: true });
  };
  const open = (id: string | undefined): void => {
    if (id !== undefined) void go(`/approvals/${id}`);
  };
  const moves: readonly KeyAction[] = [
    { key: 'j', what: 'next', run: () => choose(ordered[at + 1]) },
    { key: 'k', what: 'previous', run: () => choose(at < 0 ? ordered[0] : ordered[at - 1]) },
    { key: 'Enter', what: 'open', run: () => open(chosen) },
  ];
  // Where the call is not shown, an answer begins with showing it.
  const opens: readonly KeyAction[] = isWide ? [] : answerKeys.map((one) => ({ ...one, run: () => open(chosen) }));
  useKeys([...moves, ...opens]);
  // After an answer the next call that waits for this person is shown, or the first one of those before it.
  const onAnswered = (ids: readonly string[]): void => {
    const next = nextOf(yours, ids);
    setAsked(next === undefined ? {} : { id: next.id }, { replace: true });
  };
  if (ordered.length === 0 && chosen === undefined) return <Nothing />;
  return (
    <Stack gap="sm">
      <KeyHints actions={[...moves, ...(isWide && yours.some(({ id }) => id === chosen) ? answerKeys : [])]} />
      <Box className="approval-panes">
        <Stack gap="md">
          <Rows title="You may answer" rows={yours} chosen={chosen} empty="Nothing waits for you." />
          <Rows title="Others must answer" rows={others} chosen={chosen} />
          {isCut && <Alert color="gray">Only the newest 200 are shown. Answer some of them, or search the history.</Alert>}
        </Stack>
        {isWide && chosen !== undefined && <One id={chosen} key={chosen} onAnswered={onAnswered} />}
      </Box>
    </Stack>
  );
}

const rule = `workspacePolicy:
  tools:
    payments.transfer:
      api:
        permission: ask
        ask: { approvers: ["role:admin"] }`;

function Nothing() {
  const { role } = useSession();
  if (role === 'member')
    return (
      <Empty title="Nothing waits for a person">
        <Text size="sm">
          A call appears here by itself when a rule asks a person about it, and you may answer it or it is made for you.
        </Text>
      </Empty>
    );
  return (
    <Empty title="Nothing waits for a person" command={rule}>
      <Text size="sm">A call appears here by itself when a rule asks a person about it. A policy with such a rule:</Text>
    </Empty>
  );
}

interface RowsProps {
  readonly title: string;
  readonly rows: readonly Approval[];
  readonly chosen: string | undefined;
  readonly empty?: string;
}

function Rows({ title, rows, chosen, empty }: RowsProps) {
  if (rows.length === 0 && empty === undefined) return null;
  return (
    <Box component="section">
      <Title order={2} size="h6" mb={6} c="var(--quiet)">
        {title} ({rows.length})
      </Title>
      {rows.length === 0 && <Text size="sm">{empty}</Text>}
      <ul className="approval-list">
        {rows.map((one) => (
          <li key={one.id}>
            <Row approval={one} isChosen={one.id === chosen} />
          </li>
        ))}
      </ul>
    </Box>
  );
}

function Row({ approval, isChosen }: { readonly approval: Approval; readonly isChosen: boolean }) {
  const { call, shownInput, hidden, expiresAt, need, approvals } = approval;
  const link = useRef<HTMLAnchorElement>(null);
  const [, setAsked] = useSearchParams();
  const isWide = useMediaQuery('(min-width: 75em)', false, { getInitialValueInEffect: false });
  useEffect(() => {
    if (isChosen) link.current?.scrollIntoView({ block: 'nearest' });
  }, [isChosen]);
  const isOdd = oddIn(call.tool).length > 0 || call.agents.some((one) => oddIn(one).length > 0) || odditiesIn(shownInput).length > 0;
  return (
    <Link
      ref={link}
      to={`/approvals/${approval.id}`}
      className="approval-row"
      aria-current={isChosen ? 'true' : undefined}
      onClick={(event) => {
        if (!isWide || event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        setAsked({ id: approval.id }, { replace: true });
      }}
    >
      <Group justify="space-between" wrap="nowrap" align="baseline" gap="xs">
        <Text size="sm" fw={600} ff="monospace" miw={0} className="alone">
          <Foreign text={call.tool} max={60} />
        </Text>
        <Text size="xs" c="var(--quiet)" style={{ whiteSpace: 'nowrap' }} component="span">
          <Until at={expiresAt} ended="expired" isPlain />
        </Text>
      </Group>
      <Text size="xs" component="div" className="alone">
        <BriefValues input={shownInput} />
      </Text>
      <Group gap={6} mt={4}>
        <Text size="xs" c="var(--quiet)">
          <AgentName call={call} isLink={false} /> for <Foreign text={call.sub} max={40} />
        </Text>
        {need > 1 && (
          <Tag>
            {approvals.length} of {need} approved
          </Tag>
        )}
        {hidden.length > 0 && <Tag>{hidden.length} hidden</Tag>}
        {isOdd && <Tag isWarning>look closely</Tag>}
      </Group>
    </Link>
  );
}
