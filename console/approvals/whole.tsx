// One approval with everything that the person who answers must know. What agents wrote is in frames.
import { Box, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { read } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { Fact, Facts } from '../parts/facts.tsx';
import { Foreign, ForeignBlock } from '../parts/foreign.tsx';
import { outcomeOf, OutcomeSign } from '../parts/outcome.tsx';
import { Section } from '../parts/section.tsx';
import { Refused } from '../parts/states.tsx';
import { Until } from '../parts/until.tsx';
import { When } from '../parts/when.tsx';
import { Chain } from './agent-name.tsx';
import { refresh } from './live.ts';
import { LookClosely } from './look-closely.tsx';
import { approverWords } from './may-answer.ts';
import type { Approval, State, WholeApproval } from './state.tsx';

/** Who asks, for whom, how often and for how long. */
export function Asked({ approval }: { readonly approval: Approval }) {
  const { call } = approval;
  return (
    <Facts>
      <Fact name="Agent">
        <Chain call={call} />
      </Fact>
      <Fact name="For">
        <Foreign text={call.sub} />
      </Fact>
      <Fact name="May be made">{usesOf(approval)}</Fact>
      <Fact name="Session">
        <Foreign text={call.sessionId} />
      </Fact>
      <Fact name="Asked">
        <When at={approval.createdAt} /> by <Foreign text={call.agentType} max={120} />
      </Fact>
      <Fact name="With the key">
        <Foreign text={call.keyId} /> at revision {call.revision}
      </Fact>
      {call.claimedClient !== '' && (
        <Fact name="It claims to be">
          <Foreign text={call.claimedClient} />
        </Fact>
      )}
    </Facts>
  );
}

function usesOf({ uses, used, usableUntil, state }: Approval) {
  const times = uses === 1 ? 'once' : `${uses} times`;
  if (usableUntil === null) return `${times}, if it is approved`;
  return (
    <>
      {times}, {used} used
      {state === 'approved' && (
        <>
          , within <Until at={usableUntil} ended="no time: it is over" />
        </>
      )}
    </>
  );
}

/** Which rules ask, why, and who has approved so far. */
export function Rules({ approval }: { readonly approval: Approval }) {
  const given = approval.approvals.length;
  const left = Math.max(0, approval.need - given);
  return (
    <Section
      title="Why a person decides"
      side={
        approval.state === 'pending' && (
          <Text size="sm" fw={600}>
            {given === 0 ? `${approval.need === 1 ? '1 person' : `${approval.need} persons`} must approve` : `${left} more must approve`}
          </Text>
        )
      }
    >
      <Stack gap="xs">
        {approval.rules.map((rule, at) => (
          <Box key={at}>
            <Text size="sm">{rule.reason === null ? 'The rule gives no reason.' : <Foreign text={rule.reason} max={400} />}</Text>
            <Text size="xs" c="var(--quiet)">
              {rule.need === 1 ? 'One person' : `${rule.need} persons`} of: {rule.approvers.map(approverWords).join(', ')}. The rule is in{' '}
              <Foreign text={rule.document} />, <Foreign text={rule.path} />
            </Text>
          </Box>
        ))}
        {approval.approvals.map(({ by, at, via }) => (
          <Group key={`${by} ${at}`} gap={6}>
            <OutcomeSign outcome="allow" />
            <Text size="sm">
              {by} approved <When at={at} /> with a {via === 'session' ? 'signed-in session' : 'key'}
            </Text>
          </Group>
        ))}
      </Stack>
    </Section>
  );
}

const receivedWords: Readonly<Record<State, string>> = {
  pending: 'What the tool will receive',
  approved: 'What the tool will receive',
  used: 'What the tool received',
  denied: 'What the tool would have received',
  expired: 'What the tool would have received',
  cancelled: 'What the tool would have received',
};

/** `onWhole`: whether the input is shown to its end. */
export function Input({ approval, onWhole }: { readonly approval: Approval; readonly onWhole?: (isWhole: boolean) => void }) {
  const found = approval.findings.reduce((sum, { count }) => sum + count, 0);
  return (
    <Section
      title={receivedWords[approval.state]}
      side={
        <Text size="xs" c="var(--quiet)">
          {approval.shownText.length.toLocaleString()} characters{found === 0 ? '' : `, ${found} found by redaction`}
        </Text>
      }
    >
      <LookClosely approval={approval} />
      <ForeignBlock
        text={approval.shownText}
        by="Input, written by the agent"
        first={20_000}
        isJson
        {...(onWhole === undefined ? {} : { onWhole })}
      />
      {approval.hidden.length > 0 && <Hidden approval={approval} />}
    </Section>
  );
}

/** The values that the tool receives and the input does not show. */
function Hidden({ approval }: { readonly approval: Approval }) {
  const { api, workspace, uid } = useSession();
  const queries = useQueryClient();
  const reveal = useMutation({
    mutationFn: () => {
      const params = { path: { workspace, id: approval.id } };
      return read(api.POST('/{workspace}/admin/approvals/{id}/reveal', { params }));
    },
    onSuccess: () => refresh(queries),
  });
  const values = reveal.data?.hidden;
  const wasRevealed = approval.revealedBy.includes(uid ?? '');
  const isOpen = approval.state === 'pending' || approval.state === 'approved';
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600}>
        {approval.hidden.length === 1 ? '1 value is' : `${approval.hidden.length} values are`} hidden from you, and sent to the tool in full
      </Text>
      {values === undefined
        ? approval.hidden.map(({ path, kind, length }, at) => (
            <Text key={at} size="sm">
              {at + 1}. {kind} at <Foreign text={path === '' ? 'the whole input' : path} max={120} />, {length.toLocaleString()} characters
            </Text>
          ))
        : values.map(({ path, text, kind }, at) => (
            <Stack key={at} gap={2}>
              <Text size="xs" c="var(--quiet)">
                Value {at + 1} is at <Foreign text={path === '' ? 'the whole input' : path} max={120} />
              </Text>
              <ForeignBlock text={text} by={`Hidden value ${at + 1} (${kind}), as the tool receives it`} />
            </Stack>
          ))}
      {approval.revealedBy.length > 0 && (
        <Text size="xs" c="var(--quiet)">
          Revealed by {approval.revealedBy.join(', ')}.
        </Text>
      )}
      {reveal.error !== null && <Refused error={reveal.error} what="The values were not revealed" />}
      {isOpen && values === undefined && (
        <Group gap="sm">
          <Button size="xs" variant="default" loading={reveal.isPending} onClick={() => reveal.mutate()}>
            {wasRevealed ? 'Reveal them again' : 'Reveal them'}
          </Button>
          <Text size="xs" c="var(--quiet)">
            It is recorded that you have read them.
          </Text>
        </Group>
      )}
    </Stack>
  );
}

/** The calls of the session before, and the steps of the approval. */
export function Before({ approval }: { readonly approval: WholeApproval }) {
  return (
    <>
      <Section title="Its session so far">
        {approval.session.calls.length === 0 ? (
          <Text size="sm" c="var(--quiet)">
            No call of this session is in the log yet.
          </Text>
        ) : (
          <Stack gap={6} component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
            {approval.session.calls.map((call, at) => (
              <Group key={at} component="li" gap={8} wrap="nowrap" align="baseline">
                <OutcomeSign outcome={outcomeOf(call)} />
                <Box miw={0} flex={1}>
                  <Text size="sm" span>
                    <Foreign text={call.tool} max={80} />
                  </Text>{' '}
                  <Text size="xs" c="var(--quiet)" span>
                    <When at={call.ts} /> <Foreign text={call.reason} max={160} />
                  </Text>
                </Box>
              </Group>
            ))}
          </Stack>
        )}
      </Section>
      <Section title="What happened to it">
        <Stack gap={4} component="ol" m={0} p={0} style={{ listStyle: 'none' }}>
          {approval.steps.map(({ at, action, sub }, index) => (
            <Text key={index} component="li" size="sm">
              <When at={at} /> {action}
              {sub === '' ? '' : ` by ${sub}`}
            </Text>
          ))}
        </Stack>
      </Section>
    </>
  );
}
