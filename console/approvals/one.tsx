// One approval: everything about the call, and the answers. It stands alone, and next to the inbox on a wide screen.
import { Anchor, Box, Button, Checkbox, Group, Kbd, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { useSession } from '../app/session.tsx';
import { Back } from '../parts/back.tsx';
import { Foreign, visible } from '../parts/foreign.tsx';
import { type KeyAction, KeyHints, useKeys } from '../parts/keys.tsx';
import { Section } from '../parts/section.tsx';
import { Loaded } from '../parts/states.tsx';
import { Until } from '../parts/until.tsx';
import { AgentName, Chain } from './agent-name.tsx';
import { type Answer, Answered, Confirm } from './answer.tsx';
import './approvals.css';
import { approvalQuery, useApproval, useChanges, usePending } from './live.ts';
import { answerProblem, approveProblem, isYours, nextOf } from './may-answer.ts';
import { type Approval, StateWord, type WholeApproval } from './state.tsx';
import { BriefValues } from './values.tsx';
import { Asked, Before, Input, Rules } from './whole.tsx';

export function Page() {
  const { id = '' } = useParams();
  const go = useNavigate();
  const session = useSession();
  const pending = usePending();
  useChanges();
  const approval = useApproval(id);
  const ids = pending.data?.approvals.map((one) => one.id) ?? [];
  const at = ids.indexOf(id);
  const to = (other: string | undefined): void => {
    if (other !== undefined && other !== id) void go(`/approvals/${other}`);
  };
  const keys: readonly KeyAction[] = [
    { key: 'j', what: 'next', run: () => to(ids[at + 1]) },
    { key: 'k', what: 'previous', run: () => to(at < 0 ? undefined : ids[at - 1]) },
    { key: 'u', what: 'all approvals', run: () => void go('/approvals') },
  ];
  useKeys(keys);
  const onAnswered = (answered: readonly string[]): void => {
    const next = nextOf(pending.data?.approvals.filter((one) => isYours(one, session)) ?? [], answered);
    void go(next === undefined ? '/approvals' : `/approvals/${next.id}`);
  };
  const hasOthers = ids.some((one) => one !== id);
  const shownKeys = keys.filter(({ key }) => hasOthers || key === 'u');
  return (
    <Box className="approval-alone">
      <Group justify="space-between" mb="sm">
        <Back to="/approvals" list="Approvals" />
        <KeyHints actions={[...shownKeys, ...(approval.data?.state === 'pending' ? answerKeys : [])]} />
      </Group>
      <One id={id} key={id} isAlone onAnswered={onAnswered} />
    </Box>
  );
}

/** The keys of the answers, as the hints name them. */
export const answerKeys = [
  { key: 'a', what: 'approve', run: () => undefined },
  { key: 'd', what: 'deny', run: () => undefined },
] as const satisfies readonly KeyAction[];

interface OneProps {
  readonly id: string;
  /** It is the whole page, and gives the page its title. */
  readonly isAlone?: boolean;
  /** Called with the calls that were answered. */
  readonly onAnswered: (ids: readonly string[]) => void;
}

export function One({ id, isAlone = false, onAnswered }: OneProps) {
  const approval = useApproval(id);
  const tool = approval.data?.call.tool;
  useEffect(() => {
    if (isAlone) document.title = `Approval${tool === undefined ? '' : ` · ${visible(tool).slice(0, 60)}`} · Tollgate`;
  }, [isAlone, tool]);
  return (
    <Loaded query={approval} what="The approval could not be read" height={480}>
      {(data) => <Shown approval={data} isAlone={isAlone} onAnswered={onAnswered} />}
    </Loaded>
  );
}

interface ShownProps extends Pick<OneProps, 'onAnswered'> {
  readonly approval: WholeApproval;
  readonly isAlone: boolean;
}

function Shown({ approval, isAlone, onAnswered }: ShownProps) {
  const [isWhole, setWhole] = useState(false);
  const [together, setTogether] = useState<readonly string[]>([]);
  const [answer, setAnswer] = useState<Answer | null>(null);
  // What is cancelled after its approval stays in view: it was not waiting.
  const onGiven = (given: Answer): void => {
    if (given !== 'cancel' || approval.state === 'pending') onAnswered([approval.id, ...(given === 'cancel' ? [] : together)]);
  };
  return (
    <Stack gap="md">
      <Headline approval={approval} isAlone={isAlone} />
      <Answered approval={approval} />
      <Box className={isAlone ? 'approval-columns' : 'approval-column'}>
        <Stack gap="md" miw={0}>
          <Input approval={approval} onWhole={setWhole} />
          <Others approval={approval} together={together} setTogether={setTogether} />
        </Stack>
        <Stack gap="md" miw={0}>
          <Rules approval={approval} />
          <Section title="Who asks" side={<TakeBack approval={approval} ask={() => setAnswer('cancel')} />}>
            <Asked approval={approval} />
          </Section>
          <Before approval={approval} />
        </Stack>
      </Box>
      {approval.state === 'pending' && <Bar approval={approval} isWhole={isWhole} together={together} ask={setAnswer} />}
      <Confirm answer={answer} approval={approval} together={together} close={() => setAnswer(null)} onAnswered={onGiven} />
    </Stack>
  );
}

/** Who calls what, for whom, and the beginnings of the first values. */
function Headline({ approval, isAlone }: { readonly approval: Approval; readonly isAlone: boolean }) {
  const { call, state } = approval;
  const isPending = state === 'pending';
  return (
    <Box>
      <Group gap={8} mb={4}>
        <StateWord state={state} />
        {isPending && (
          <Text size="sm" c="var(--quiet)">
            expires in <Until at={approval.expiresAt} ended="no time: it has expired" />
          </Text>
        )}
      </Group>
      <Title order={isAlone ? 1 : 2} size="h3" style={{ overflowWrap: 'anywhere' }}>
        <AgentName call={call} isLink={false} /> {isPending ? 'wants to call' : 'wanted to call'} <Foreign text={call.tool} max={120} />
      </Title>
      <Text size="md" mt={4} component="div">
        <BriefValues input={approval.shownInput} max={4} length={32} />
      </Text>
      <Text size="sm" mt={4} c="var(--quiet)">
        {call.agents.length > 1 && (
          <>
            <Chain call={call} />,{' '}
          </>
        )}
        for <Foreign text={call.sub} max={60} />
      </Text>
    </Box>
  );
}

interface OthersProps {
  readonly approval: WholeApproval;
  readonly together: readonly string[];
  readonly setTogether: (ids: readonly string[]) => void;
}

/** The other calls of the same question. Only one that was shown whole can be answered together with this one. */
function Others({ approval, together, setTogether }: OthersProps) {
  const session = useSession();
  const ids = approval.questionIds.filter((id) => id !== approval.id);
  const others = useQueries({ queries: ids.slice(0, 100).map((id) => approvalQuery(session, id)) });
  if (ids.length === 0) return null;
  return (
    <Section title={`${ids.length === 1 ? '1 more call' : `${ids.length} more calls`} of the same question`}>
      <Text size="sm" c="var(--quiet)">
        The agent made them in the same round, and the same rules ask about them. They can be answered together with this one.
      </Text>
      {others.map(({ data, isPending }, at) =>
        data === undefined ? (
          isPending && <Skeleton key={ids[at]} height={40} />
        ) : (
          <Other
            key={data.id}
            approval={data}
            isChosen={together.includes(data.id)}
            choose={(isChosen) => setTogether([...together.filter((id) => id !== data.id), ...(isChosen ? [data.id] : [])])}
          />
        ),
      )}
    </Section>
  );
}

interface OtherProps {
  readonly approval: Approval;
  readonly isChosen: boolean;
  readonly choose: (isChosen: boolean) => void;
}

function Other({ approval, isChosen, choose }: OtherProps) {
  const [isOpen, setOpen] = useState(false);
  const [isWhole, setWhole] = useState(false);
  const isPending = approval.state === 'pending';
  useEffect(() => {
    if (isChosen && !isPending) choose(false);
  }, [isChosen, isPending, choose]);
  const why =
    !isOpen || !isWhole
      ? 'Show its input to the end first.'
      : approval.hidden.length > 0
        ? 'It has hidden values: open it by itself.'
        : null;
  return (
    <Stack gap={6} className="approval-other">
      <Group justify="space-between" gap="xs">
        <Group gap={8}>
          <StateWord state={approval.state} />
          <Text size="sm" ff="monospace">
            <Foreign text={approval.call.tool} max={60} />
          </Text>
        </Group>
        <Group gap="xs">
          <Button size="compact-xs" variant="default" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Hide its input' : 'Show its input'}
          </Button>
          <Anchor component={Link} to={`/approvals/${approval.id}`} size="sm">
            Open it
          </Anchor>
        </Group>
      </Group>
      {isOpen && <Input approval={approval} onWhole={setWhole} />}
      {isPending && (
        <Checkbox
          size="sm"
          label="Answer it together with this one"
          description={why}
          disabled={why !== null}
          checked={isChosen}
          onChange={(event) => choose(event.currentTarget.checked)}
        />
      )}
    </Stack>
  );
}

interface BarProps {
  readonly approval: Approval;
  readonly isWhole: boolean;
  readonly together: readonly string[];
  readonly ask: (answer: Answer) => void;
}

/** The answers, always within reach, and why one of them cannot be given. */
function Bar({ approval, isWhole, together, ask }: BarProps) {
  const session = useSession();
  const problem = answerProblem(approval, session);
  const mayDeny = problem?.kind !== 'no';
  const whyNotApprove = isWhole
    ? approveProblem(approval, session)
    : 'Show the input to its end first. What was not shown cannot be approved.';
  const mayApprove = mayDeny && whyNotApprove === null;
  useKeys([
    { key: 'a', what: 'approve', run: () => mayApprove && ask('approve') },
    { key: 'd', what: 'deny', run: () => mayDeny && ask('deny') },
  ]);
  const words = problem?.why ?? whyNotApprove;
  return (
    <Box className="approval-bar">
      {words !== null && (
        <Text size="sm" mb={8} c={problem?.kind === 'perhaps' ? 'var(--outcome-limit)' : 'var(--quiet)'} role="note">
          {words}
        </Text>
      )}
      <Group gap="sm" wrap="nowrap">
        <Button
          size="md"
          color="var(--outcome-deny)"
          variant="outline"
          disabled={!mayDeny}
          onClick={() => ask('deny')}
          rightSection={<Key name="d" />}
        >
          Deny
        </Button>
        <Button size="md" disabled={!mayApprove} onClick={() => ask('approve')} rightSection={<Key name="a" />} className="approval-main">
          {together.length === 0 ? 'Approve' : `Approve ${together.length + 1} calls`}
        </Button>
      </Group>
    </Box>
  );
}

/** For the person that the call is made for, and for owners and admins. */
function TakeBack({ approval, ask }: { readonly approval: Approval; readonly ask: () => void }) {
  const { role, sub, may } = useSession();
  const isTheirs = approval.call.sub === sub || role !== 'member';
  if (!isTheirs || may('admin.approvals').why !== null || (approval.state !== 'pending' && approval.state !== 'approved')) return null;
  return (
    <Button size="compact-sm" variant="default" onClick={ask}>
      {approval.state === 'pending' ? 'Cancel the request' : 'Cancel the approval'}
    </Button>
  );
}

const Key = ({ name }: { readonly name: string }) => (
  <Kbd size="xs" visibleFrom="sm">
    {name}
  </Kbd>
);
