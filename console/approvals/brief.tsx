// The calls that an answer is about, within its confirmation: whole, with what could be overlooked, so that no one answers
// another call than they mean.
import { Box, Stack, Text } from '@mantine/core';
import { Foreign, ForeignBlock, ForeignFrame } from '../parts/foreign.tsx';
import { AgentName } from './agent-name.tsx';
import { useApproval } from './live.ts';
import { LookClosely } from './look-closely.tsx';
import type { Approval } from './state.tsx';

interface BriefsProps {
  readonly approval: Approval;
  /** Other calls that get the same answer. */
  readonly together: readonly string[];
}

export function Briefs({ approval, together }: BriefsProps) {
  return (
    <Stack gap="sm" className="answer-brief">
      <Brief approval={approval} />
      {together.map((id) => (
        <Other key={id} id={id} />
      ))}
    </Stack>
  );
}

function Other({ id }: { readonly id: string }) {
  const approval = useApproval(id);
  return approval.data === undefined ? null : <Brief approval={approval.data} />;
}

function Brief({ approval }: { readonly approval: Approval }) {
  const { call, shownText } = approval;
  return (
    <Stack gap={6}>
      <ForeignFrame by="The name of the tool">
        <Box px={8} py={4}>
          <Text size="sm" fw={600} ff="monospace">
            <Foreign text={call.tool} max={200} />
          </Text>
        </Box>
      </ForeignFrame>
      <LookClosely approval={approval} />
      <ForeignBlock text={shownText} by="Its input, written by the agent" first={20_000} isJson />
      <Text size="sm">
        For <Foreign text={call.sub} max={60} />, by <AgentName call={call} isLink={false} />
      </Text>
    </Stack>
  );
}
