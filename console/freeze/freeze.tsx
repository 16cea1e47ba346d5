// Freezes the workspace, from every page: each call is denied until it is unfrozen. A freeze of someone else shows at
// once, because the session's stream reports it.
import { Alert, Anchor, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { read } from '../api/client.ts';
import { sessionKey, useSession } from '../app/session.tsx';
import { visible } from '../parts/foreign.tsx';
import { Refused } from '../parts/states.tsx';
import { When } from '../parts/when.tsx';

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
      <Dialog isOpen={isOpen} close={close} />
    </>
  );
}

interface DialogProps {
  readonly isOpen: boolean;
  readonly close: () => void;
}

function Dialog({ isOpen, close }: DialogProps) {
  const { frozen } = useSession();
  return (
    <Modal opened={isOpen} onClose={close} title={frozen ? 'Unfreeze the workspace' : 'Freeze the workspace'}>
      <Confirm key={String(frozen)} onDone={close} />
    </Modal>
  );
}

/** To freeze, the slug must be typed, so that no slip of the hand stops all agents. To unfreeze, a click is enough. */
function Confirm({ onDone }: { readonly onDone: () => void }) {
  const { api, workspace, frozen } = useSession();
  const queries = useQueryClient();
  const [typed, setTyped] = useState('');
  const isMeant = frozen || typed === workspace;
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
        if (isMeant) change.mutate();
      }}
    >
      <Stack>
        <Text size="sm">
          {frozen
            ? 'Rules decide again. Calls that were denied meanwhile are not made again by themselves.'
            : 'Every call of every agent of this workspace is denied, before any rule, until someone unfreezes it. Calls that run already are not stopped. A sidecar that is not connected decides by the last policy that it received, until it connects again.'}
        </Text>
        {!frozen && (
          <TextInput
            label={`Type the name of the workspace: ${workspace}`}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
        )}
        {change.error !== null && <Refused error={change.error} what="Nothing was changed" />}
        <Button
          type="submit"
          color={frozen ? 'ink' : 'red'}
          disabled={!isMeant}
          loading={change.isPending}
          data-autofocus={frozen || undefined}
        >
          {frozen ? 'Unfreeze' : 'Freeze every call'}
        </Button>
      </Stack>
    </form>
  );
}

const searchedEvents = 100;

/** The change that froze the workspace. Undefined: not known, or this person may not read changes. */
function useFreezeEvent(frozen: boolean) {
  const { api, workspace, may } = useSession();
  const { data } = useQuery({
    queryKey: ['freeze', workspace, frozen],
    queryFn: async () => {
      const params = { path: { workspace }, query: { limit: searchedEvents } };
      const { events } = await read(api.GET('/{workspace}/admin/events', { params }));
      return events.find(({ action }) => action === 'workspace.freeze') ?? null;
    },
    enabled: frozen && may('admin.audit.read', ['owner', 'admin']).why === null,
    // That of an earlier freeze is not shown.
    gcTime: 0,
  });
  return data ?? undefined;
}

/** Says on every page that the workspace is frozen, by whom and since when. */
export function FrozenBanner() {
  const { frozen, may } = useSession();
  const [isOpen, { open, close }] = useDisclosure(false);
  const event = useFreezeEvent(frozen);
  const { why } = may('policies.write', ['owner', 'admin']);
  return (
    <>
      {frozen && (
        <Alert color="red" variant="filled" mb="md" title="The workspace is frozen" role="status">
          <Group justify="space-between" gap="sm">
            <Text size="sm">
              Every call of every agent is denied until an owner or admin unfreezes it.{' '}
              <Anchor component={Link} to="/sidecars" inherit c="inherit" underline="always">
                Sidecars
              </Anchor>{' '}
              that are not connected learn of it when they connect again.
              {event !== undefined && (
                <>
                  {' '}
                  Frozen{event.sub === '' ? '' : ` by ${visible(event.sub.slice(0, 80))}`}, <When at={event.at} />.
                </>
              )}
            </Text>
            {why === null && (
              <Button size="xs" variant="white" color="dark" onClick={open}>
                Unfreeze
              </Button>
            )}
          </Group>
        </Alert>
      )}
      <Dialog isOpen={isOpen && frozen} close={close} />
    </>
  );
}
