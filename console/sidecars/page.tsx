// All sidecars: where calls are decided, by which revision, and what is wrong.
import { Anchor, Box, Button, Group, SegmentedControl, Stack, Text, Title, Tooltip } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'react-router';
import { read } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { Foreign } from '../parts/foreign.tsx';
import '../parts/rows.css';
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
      <Group justify="space-between" align="end">
        <Box>
          <Title order={1} size="h3">
            Sidecars
          </Title>
          <Text size="sm" c="var(--quiet)">
            Where calls are decided, and by which revision of the policy.
          </Text>
        </Box>
        <SegmentedControl
          size="xs"
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
                The policy is at revision {pages[0]?.revision.toLocaleString()}.{' '}
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

const SidecarTable = ({ sidecars }: { readonly sidecars: readonly Sidecar[] }) => (
  <table className="rows">
    <caption className="only-read">Sidecars</caption>
    <thead>
      <tr>
        <th scope="col">Sidecar</th>
        <th scope="col">State</th>
        <th scope="col" className="rows-number">
          Revision
        </th>
        <th scope="col" className="rows-number">
          Undelivered entries
        </th>
        <th scope="col">Version</th>
        <th scope="col">Last seen</th>
      </tr>
    </thead>
    <tbody>
      {sidecars.map((one) => (
        <Row key={one.bootId} sidecar={one} />
      ))}
    </tbody>
  </table>
);

/** What a sidecar is a part of. */
export const formWords: Readonly<Record<Sidecar['form'], string>> = { library: 'library in an agent', process: 'process of its own' };

function Row({ sidecar }: { readonly sidecar: Sidecar }) {
  const { id, bootId, form, held, status, connected, lastSeen } = sidecar;
  return (
    <tr>
      <td className="rows-wide alone">
        <Anchor component={Link} to={`/sidecars/${encodeURIComponent(bootId)}`} size="sm" fw={600} underline="hover">
          <Foreign text={id} max={60} />
        </Anchor>
        <Text size="xs" c="var(--quiet)">
          {formWords[form]}
        </Text>
      </td>
      <td data-label="State">
        <State sidecar={sidecar} />
      </td>
      <td data-label="Revision" className="rows-number">
        {held === null ? '–' : held.number.toLocaleString()}
      </td>
      <td data-label="Undelivered" className="rows-number">
        {status === null ? '–' : status.spool.records.toLocaleString()}
      </td>
      <td data-label="Version">{status === null ? '–' : <Foreign text={status.version} max={40} />}</td>
      <td data-label="Last seen">{connected ? 'now' : <span title={lastSeen}>{fromNow(lastSeen)}</span>}</td>
    </tr>
  );
}

export function State({ sidecar }: { readonly sidecar: Sidecar }) {
  const problems = problemsOf(sidecar);
  if (problems.length === 0)
    return (
      <Text size="sm" span c="var(--outcome-allow)">
        ✓ healthy
      </Text>
    );
  const colour = sidecar.connected ? 'var(--outcome-limit)' : 'var(--outcome-deny)';
  return (
    <Stack gap={2} align="start">
      {problems.map(({ words, meaning }) => (
        <Tooltip key={words} label={meaning} multiline w={260} events={{ hover: true, focus: true, touch: true }}>
          <Text size="sm" span c={colour} tabIndex={0}>
            ! {words}
          </Text>
        </Tooltip>
      ))}
    </Stack>
  );
}
