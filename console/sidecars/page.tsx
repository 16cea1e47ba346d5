// All sidecars: where calls are decided, by which revision, and what is wrong.
import { Badge, Button, Group, Paper, SegmentedControl, Stack, Table, Text, Title, Tooltip } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'react-router';
import { read } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { fromNow } from '../parts/when.tsx';
import { problemsOf, type Sidecar } from './health.ts';

const refreshMs = 3_000;

export function Page() {
  useDocumentTitle('Sidecars · Tollgate');
  const { api, workspace } = useSession();
  const [search, setSearch] = useSearchParams();
  const isTroubled = search.get('show') === 'problems';
  const sidecars = useInfiniteQuery({
    queryKey: ['sidecars'],
    queryFn: ({ pageParam }) =>
      read(
        api.GET('/{workspace}/admin/sidecars', { params: { path: { workspace }, query: pageParam === '' ? {} : { cursor: pageParam } } }),
      ),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    refetchInterval: refreshMs,
  });
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Sidecars
        </Title>
        <SegmentedControl
          aria-label="Which sidecars"
          value={isTroubled ? 'problems' : 'all'}
          onChange={(value) => setSearch(value === 'all' ? {} : { show: value }, { replace: true })}
          data={[
            { value: 'all', label: 'All' },
            { value: 'problems', label: 'With problems' },
          ]}
        />
      </Group>
      <Loaded query={sidecars} what="The sidecars could not be read" height={240}>
        {({ pages }) => {
          const all = pages.flatMap((page) => page.sidecars);
          if (all.length === 0) return <NoSidecars />;
          const shown = isTroubled ? all.filter((one) => problemsOf(one).length > 0) : all;
          return (
            <>
              <Text c="var(--quiet)" size="sm">
                Policy is at revision {pages[0]?.revision.toLocaleString()}.{' '}
                {all.filter(({ connected }) => connected).length.toLocaleString()} of {all.length.toLocaleString()}
                {sidecars.hasNextPage ? ' or more' : ''} are connected.
              </Text>
              {shown.length === 0 ? (
                <Empty title="No sidecar has a problem">
                  <Text>Each is connected, decides by the newest policy, and has delivered its entries.</Text>
                </Empty>
              ) : (
                <SidecarTable sidecars={shown} />
              )}
              {sidecars.hasNextPage && (
                <Button variant="default" onClick={() => void sidecars.fetchNextPage()} loading={sidecars.isFetchingNextPage}>
                  Show more
                </Button>
              )}
            </>
          );
        }}
      </Loaded>
    </Stack>
  );
}

function NoSidecars() {
  return (
    <Empty
      title="No sidecar has connected yet"
      command={`SIDECAR_KEY=$(tollgate keys create sidecars --scope sidecar.sync)\nTOLLGATE_KEY=$SIDECAR_KEY TOLLGATE_SIDECAR_ID=edge-1 tollgate-sidecar`}
    >
      <Text>
        A sidecar decides the calls of agents next to them. One key and one command start it; it is listed here within two seconds.
      </Text>
    </Empty>
  );
}

function SidecarTable({ sidecars }: { readonly sidecars: readonly Sidecar[] }) {
  return (
    <Paper withBorder bg="var(--card)">
      <Table.ScrollContainer minWidth={680}>
        <Table highlightOnHover>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Sidecar</Table.Th>
              <Table.Th>State</Table.Th>
              <Table.Th ta="right">Revision</Table.Th>
              <Table.Th ta="right">Undelivered entries</Table.Th>
              <Table.Th>Version</Table.Th>
              <Table.Th>Seen</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {sidecars.map((one) => (
              <Row key={one.bootId} sidecar={one} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}

function Row({ sidecar }: { readonly sidecar: Sidecar }) {
  const { id, bootId, form, held, status, connected, lastSeen } = sidecar;
  return (
    <Table.Tr>
      <Table.Td>
        <Link to={`/sidecars/${encodeURIComponent(bootId)}`}>
          <Foreign text={id} max={60} />
        </Link>
        <Text size="xs" c="var(--quiet)">
          {form === 'library' ? 'in the process of an agent' : 'a process of its own'}
        </Text>
      </Table.Td>
      <Table.Td>
        <State sidecar={sidecar} />
      </Table.Td>
      <Table.Td ta="right">{held === null ? '–' : held.number.toLocaleString()}</Table.Td>
      <Table.Td ta="right">{status === null ? '–' : status.spool.records.toLocaleString()}</Table.Td>
      <Table.Td>{status === null ? '–' : <Foreign text={status.version} max={40} />}</Table.Td>
      <Table.Td>
        {connected ? (
          'now'
        ) : (
          <Text size="sm" title={lastSeen}>
            {fromNow(lastSeen)}
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

export function State({ sidecar }: { readonly sidecar: Sidecar }) {
  const problems = problemsOf(sidecar);
  if (problems.length === 0)
    return (
      <Text size="sm" c="var(--outcome-allow)">
        ✓ in order
      </Text>
    );
  return (
    <Group gap={4}>
      {problems.map(({ words, meaning }) => (
        <Tooltip key={words} label={meaning} multiline w={260} events={{ hover: true, focus: true, touch: true }}>
          <Badge
            variant="light"
            color={sidecar.connected ? 'orange' : 'red'}
            tabIndex={0}
            tt="none"
            style={{ whiteSpace: 'normal', height: 'auto' }}
          >
            ! {words}
          </Badge>
        </Tooltip>
      ))}
    </Group>
  );
}
