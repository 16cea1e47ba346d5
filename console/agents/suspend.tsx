// Suspends an agent, and lets it call again.
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { read } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { Refused } from '../parts/states.tsx';
import './agents.css';
import type { Agent } from './data.ts';

export function Suspend({ agent }: { readonly agent: Agent }) {
  const { api, may } = useSession();
  const queries = useQueryClient();
  const [isOpen, { open, close }] = useDisclosure(false);
  const { why } = may('agents.write', ['owner', 'admin']);
  const change = useMutation({
    mutationFn: () => read(api.PATCH('/api/v1/agents/{id}', { params: { path: { id: agent.id } }, body: { suspended: !agent.suspended } })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['agents'] });
      close();
    },
  });
  return (
    <Stack gap={4} className="agent-suspend">
      <Button
        size="xs"
        variant={agent.suspended ? 'filled' : 'outline'}
        color={agent.suspended ? 'ink' : 'var(--outcome-deny)'}
        onClick={open}
        disabled={why !== null}
      >
        {agent.suspended ? 'Let it call again' : 'Suspend'}
      </Button>
      {why !== null && (
        <Text size="xs" c="var(--quiet)" maw={300}>
          {why}
        </Text>
      )}
      <Modal opened={isOpen} onClose={close} title={agent.suspended ? 'Let the agent call again?' : 'Suspend the agent?'}>
        <Stack>
          <Text size="sm">
            <Foreign text={agent.name} max={80} />
          </Text>
          <Text size="sm">
            {agent.suspended
              ? 'Its calls are decided by the policy again. Those that were denied meanwhile are not made by themselves.'
              : 'Every call and every run of it is denied from now on, also where it is only a part of a chain. A tool that runs already is not stopped.'}
          </Text>
          {change.error !== null && <Refused error={change.error} what="Nothing was changed" />}
          <Group justify="space-between">
            <Button variant="default" onClick={close}>
              Not now
            </Button>
            <Button color={agent.suspended ? 'ink' : 'var(--outcome-deny)'} onClick={() => change.mutate()} loading={change.isPending}>
              {agent.suspended ? 'Let it call' : 'Suspend it'}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </Stack>
  );
}
