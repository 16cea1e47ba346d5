// Freezes the workspace, from every page: each call is denied until it is unfrozen. A freeze of someone else shows at
// once, because the session's stream reports it.
import { Alert, Button, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { read } from '../api/client.ts';
import { sessionKey, useSession } from '../app/session.tsx';
import { Refused } from '../parts/states.tsx';

export function Freeze() {
  const { frozen, may } = useSession();
  const [isOpen, { open, close }] = useDisclosure(false);
  const { why } = may('policies.write', ['owner', 'admin']);
  return (
    <>
      <Button
        size="xs"
        color="red"
        variant={frozen ? 'filled' : 'outline'}
        onClick={open}
        disabled={why !== null}
        title={why ?? undefined}
        aria-label={frozen ? 'Frozen: every call is denied. Unfreeze' : 'Freeze: deny every call'}
      >
        {frozen ? 'Frozen' : 'Freeze'}
      </Button>
      <Modal opened={isOpen} onClose={close} title={frozen ? 'Unfreeze the workspace' : 'Freeze the workspace'}>
        <Confirm onDone={close} />
      </Modal>
    </>
  );
}

/** The slug must be typed, so that no slip of the hand stops all agents. */
function Confirm({ onDone }: { readonly onDone: () => void }) {
  const { api, workspace, frozen } = useSession();
  const queries = useQueryClient();
  const [typed, setTyped] = useState('');
  const change = useMutation({
    mutationFn: () => {
      const params = { params: { path: { workspace } } };
      return frozen ? read(api.POST('/{workspace}/admin/unfreeze', params)) : read(api.POST('/{workspace}/admin/freeze', params));
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: sessionKey });
      onDone();
    },
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (typed === workspace) change.mutate();
      }}
    >
      <Stack>
        <Text size="sm">
          {frozen
            ? 'Rules decide again. Calls that were denied meanwhile are not made again by themselves.'
            : 'Every call of every agent of this workspace is denied, before any rule, until someone unfreezes it. Calls that run already are not stopped.'}
        </Text>
        <TextInput
          label={`Type the name of the workspace: ${workspace}`}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
        {change.error !== null && <Refused error={change.error} what="Nothing was changed" />}
        <Button type="submit" color={frozen ? 'ink' : 'red'} disabled={typed !== workspace} loading={change.isPending}>
          {frozen ? 'Unfreeze' : 'Freeze every call'}
        </Button>
      </Stack>
    </form>
  );
}

/** Says on every page that the workspace is frozen. */
export function FrozenBanner() {
  const { frozen } = useSession();
  if (!frozen) return null;
  return (
    <Alert color="red" variant="filled" mb="md" title="The workspace is frozen" role="status">
      Every call of every agent is denied until an owner or admin unfreezes it.
    </Alert>
  );
}
