// Approves, denies and cancels, each after a confirmation. The confirmation cannot be given by the key or the tap that
// opened it: its button works after a moment, which it shows, and never by a key that is held down.
import { Alert, Button, Checkbox, Group, Kbd, Modal, Stack, Text, Textarea } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useId, useState, type KeyboardEvent } from 'react';
import { read } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { Refused } from '../parts/states.tsx';
import { Until } from '../parts/until.tsx';
import { When } from '../parts/when.tsx';
import { useAgentName } from './agent-name.tsx';
import { Briefs } from './brief.tsx';
import { refresh } from './live.ts';
import { type Approval, StateWord } from './state.tsx';
import { tell } from './told.tsx';

export type Answer = 'approve' | 'deny' | 'cancel';

interface ConfirmProps {
  readonly answer: Answer | null;
  readonly approval: Approval;
  /** Other calls of the same question, which get the same answer. */
  readonly together: readonly string[];
  readonly close: () => void;
  /** Called after the answer was accepted. */
  readonly onAnswered: (answer: Answer) => void;
}

function titleOf(answer: Answer, others: number): string {
  if (answer === 'cancel') return 'Cancel it?';
  const calls = others === 0 ? 'this call' : `these ${others + 1} calls`;
  return answer === 'approve' ? `Approve ${calls}?` : `Deny ${calls}?`;
}

export function Confirm({ answer, approval, together, close, onAnswered }: ConfirmProps) {
  const isSmall = useMediaQuery('(max-width: 36em)');
  return (
    <Modal
      opened={answer !== null}
      onClose={close}
      title={answer === null ? '' : titleOf(answer, together.length)}
      fullScreen={isSmall ?? false}
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close, and answer nothing' }}
    >
      {answer !== null && <Form answer={answer} approval={approval} together={together} close={close} onAnswered={onAnswered} />}
    </Modal>
  );
}

const armedAfterMs = 800;

/** Whether the dialog has been open long enough to be an intention. */
function useArmed(): boolean {
  const [isArmed, setArmed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setArmed(true), armedAfterMs);
    return () => clearTimeout(timer);
  }, []);
  return isArmed;
}

function Form({ answer, approval, together, close, onAnswered }: ConfirmProps & { readonly answer: Answer }) {
  const [note, setNote] = useState('');
  const [isSession, setSession] = useState(false);
  const isArmed = useArmed();
  const hasTouch = useMediaQuery('(pointer: coarse)', false, { getInitialValueInEffect: false });
  const send = useAnswer(answer, approval, () => {
    close();
    onAnswered(answer);
  });
  const isOver = approval.state !== 'pending' && !(answer === 'cancel' && approval.state === 'approved');
  const go = (): void => {
    if (isArmed && !isOver && !send.isPending) send.mutate({ note: note.trim(), isSession, together });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
    event.preventDefault();
    go();
  };
  if (isOver)
    return (
      <Stack>
        <Answered approval={approval} />
        <Button variant="default" onClick={close} data-autofocus>
          Close
        </Button>
      </Stack>
    );
  return (
    <Stack onKeyDown={onKeyDown}>
      <Briefs approval={approval} together={answer === 'cancel' ? [] : together} />
      <Effect answer={answer} approval={approval} />
      {answer !== 'cancel' && (
        <Textarea
          label="Note"
          description="The agent reads it. Leave it empty if there is nothing to say."
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
          maxLength={1_000}
          // A key that was pressed twice is no note.
          readOnly={!isArmed}
          autosize
          minRows={2}
          maxRows={6}
          {...(hasTouch ? {} : { 'data-autofocus': true })}
        />
      )}
      {answer === 'deny' && (
        <Checkbox
          label="Deny for the rest of the session"
          description="Everything that these rules ask about in this session is denied too, without asking you again."
          checked={isSession}
          onChange={(event) => setSession(event.currentTarget.checked)}
        />
      )}
      {send.error !== null && <Refused error={send.error} what="The answer was not accepted" />}
      <Group justify="space-between" wrap="wrap-reverse">
        <Button variant="default" size="md" onClick={close}>
          Not now
        </Button>
        <Send answer={answer} isArmed={isArmed} isPending={send.isPending} isSession={isSession} go={go} />
      </Group>
    </Stack>
  );
}

interface SendProps {
  readonly answer: Answer;
  readonly isArmed: boolean;
  readonly isPending: boolean;
  readonly isSession: boolean;
  readonly go: () => void;
}

function Send({ answer, isArmed, isPending, isSession, go }: SendProps) {
  const isMac = navigator.platform.startsWith('Mac');
  const words = { approve: 'Approve', deny: isSession ? 'Deny for the session' : 'Deny', cancel: 'Cancel it' }[answer];
  return (
    <Button
      size="md"
      color={answer === 'approve' ? 'ink' : 'var(--outcome-deny)'}
      variant={answer === 'approve' ? 'filled' : 'outline'}
      disabled={!isArmed}
      loading={isPending}
      onClick={go}
      className={isArmed ? undefined : 'answer-wait'}
      style={{ '--answer-wait': `${armedAfterMs}ms` }}
      rightSection={
        isArmed ? (
          <Kbd size="xs" visibleFrom="sm">
            {isMac ? '⌘' : 'Ctrl'} ⏎
          </Kbd>
        ) : (
          <Text size="xs" span>
            in a moment
          </Text>
        )
      }
    >
      {words}
    </Button>
  );
}

interface Sent {
  readonly note: string;
  readonly isSession: boolean;
  readonly together: readonly string[];
}

function useAnswer(answer: Answer, approval: Approval, onDone: () => void) {
  const { api, workspace } = useSession();
  const { id } = approval;
  const agent = useAgentName(approval.call);
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ note, isSession, together }: Sent) => {
      const params = { params: { path: { workspace, id } } };
      const said = { ...(note === '' ? {} : { note }), ...(together.length === 0 ? {} : { with: [...together] }) };
      if (answer === 'cancel') return read(api.POST('/{workspace}/admin/approvals/{id}/cancel', params));
      if (answer === 'approve') return read(api.POST('/{workspace}/admin/approvals/{id}/approve', { ...params, body: said }));
      const body = { ...said, ...(isSession ? { session: true } : {}) };
      return read(api.POST('/{workspace}/admin/approvals/{id}/deny', { ...params, body }));
    },
    onSuccess: (_, { together }) => {
      tell({ answer, approval, agent, others: answer === 'cancel' ? 0 : together.length });
      onDone();
    },
    // Also after a refusal: someone else may have answered.
    onSettled: () => refresh(queries),
  });
}

function Effect({ answer, approval }: { readonly answer: Answer; readonly approval: Approval }) {
  if (answer === 'deny')
    return (
      <Text size="sm">
        The agent is told that a person denied it. The same call gets the same answer for a while, and may ask again later.
      </Text>
    );
  if (answer === 'cancel')
    return <Text size="sm">The call is neither approved nor denied. If the agent makes the same call again, a person is asked again.</Text>;
  const more = approval.need - approval.approvals.length - 1;
  return (
    <Text size="sm">
      {more > 0
        ? `${more === 1 ? 'Another person' : `${more} other persons`} must approve after you. `
        : `The call may be made ${approval.uses === 1 ? 'once' : `${approval.uses} times`}. `}
      Everything is decided again when it is made: a freeze, a limit or a stricter rule still denies it. The question expires in{' '}
      <Until at={approval.expiresAt} ended="no time: it has expired" />.
    </Text>
  );
}

/** Says that the question has an answer, which may be that of someone else. */
export function Answered({ approval }: { readonly approval: Approval }) {
  const { uid } = useSession();
  const id = useId();
  if (approval.state === 'pending') return null;
  const by = approval.by === null ? '' : approval.by === uid ? ' by you' : ` by ${approval.by}`;
  return (
    <Alert color="gray" variant="light" role="status" aria-labelledby={id}>
      <Group gap={8} id={id}>
        <StateWord state={approval.state} />
        <Text size="sm">
          {by === '' ? 'It needs no answer any more' : `It was answered${by}`}
          {approval.answeredAt !== null && (
            <>
              , <When at={approval.answeredAt} />
            </>
          )}
          {by === '' ? '.' : '. It cannot be answered again.'}
        </Text>
      </Group>
      {approval.note !== null && (
        <Text size="sm" mt={4}>
          With the note <Foreign text={approval.note} max={1_000} />
        </Text>
      )}
    </Alert>
  );
}
