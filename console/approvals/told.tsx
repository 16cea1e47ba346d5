// The short notification after an answer: what was answered, so that a person sees that the right call was meant.
import { Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Foreign } from '../parts/foreign.tsx';
import type { Answer } from './answer.tsx';
import type { Approval } from './state.tsx';
import { BriefValues } from './values.tsx';

const shownMs = 6_000;
const words: Readonly<Record<Answer, string>> = { approve: 'Approved', deny: 'Denied', cancel: 'Cancelled' };

interface Told {
  readonly answer: Answer;
  readonly approval: Approval;
  /** The name of the agent. */
  readonly agent: string;
  /** How many other calls have got the same answer. */
  readonly others: number;
}

export function tell({ answer, approval, agent, others }: Told): void {
  const { call, shownInput, need, approvals } = approval;
  const left = answer === 'approve' ? need - approvals.length - 1 : 0;
  notifications.show({
    color: answer === 'approve' ? 'ink' : 'gray',
    autoClose: shownMs,
    closeButtonProps: { 'aria-label': 'Close the notification' },
    title: `${words[answer]}${others === 0 ? '' : ` ${others + 1} calls`}`,
    message: (
      <Text span size="sm" c="var(--mantine-color-text)">
        <Foreign text={call.tool} max={60} /> by <Foreign text={agent} max={40} />:{' '}
        <BriefValues input={shownInput} max={4} length={24} isNameless />
        {others > 0 && `, and ${others} more`}
        {left > 0 && `. ${left === 1 ? 'Another person' : `${left} other persons`} must approve it too.`}
      </Text>
    ),
  });
}
