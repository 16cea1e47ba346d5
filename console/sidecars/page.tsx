// All sidecars: where calls are decided, by which revision, and what is wrong.
import { Anchor, Button, SegmentedControl, Stack, Text, Tooltip } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'react-router';
import { useSession } from '../app/session.tsx';
import { Foreign } from '../parts/foreign.tsx';
import '../parts/rows.css';
import { PageHead } from '../parts/page-head.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { fromNow, instantWords } from '../parts/when.tsx';
import { divide, readSidecars, type Sidecar } from './data.ts';
import { formWords, problemsOf, toneColour } from './health.ts';

const refreshMs = 3_000;

export function Page() {
  useDocumentTitle('Sidecars · Tollgate');
  const { api, workspace } = useSession();
  const [search, setSearch] = useSearchParams();
  const isTroubled = search.get('show') === 'problems';
  const sidecars = useInfiniteQuery({
    queryKey: ['sidecars'],
    queryFn: ({ pageParam }) => readSidecars(api, workspace, pageParam === '' ? {} : { cursor: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    refetchInterval: refreshMs,
  });
  return (
    <Stack>
      <PageHead title="Sidecars" sentence="Where calls are decided, and by which revision of the policy.">
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
      </PageHead>
      <Loaded query={sidecars} what="The sidecars could not be read" height={240}>
        {({ pages }) => {
          const all = pages.flatMap((page) => page.sidecars);
          if (all.length === 0) return <NoSidecars />;
          const { current, replaced } = divide(all);
          const troubled = current.filter((one) => problemsOf(one).length > 0);
          const shown = isTroubled ? troubled : [...troubled, ...current.filter((one) => !troubled.includes(one))];
          return (
            <>
              <Text c="var(--quiet)" size="sm">
                The policy is at revision {pages[0]?.revision.toLocaleString()}.{' '}
                {current.filter(({ connected }) => connected).length.toLocaleString()} of {current.length.toLocaleString()}
                {sidecars.hasNextPage ? ' or more' : ''} are connected
                {troubled.length === 0 ? ', none has a problem.' : `, ${troubled.length.toLocaleString()} with a problem.`}
              </Text>
              {shown.length === 0 ? (
                <Empty title="No sidecar has a problem">
                  <Text>Each is connected, decides by the newest policy, and has delivered its entries.</Text>
                </Empty>
              ) : (
                <SidecarTable sidecars={shown} />
              )}
              {!isTroubled && replaced.length > 0 && <Replaced sidecars={replaced} />}
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

/** Folded: that a process has ended and a newer one does its work is no problem. */
const Replaced = ({ sidecars }: { readonly sidecars: readonly Sidecar[] }) => (
  <details>
    <Text component="summary" size="sm" c="var(--quiet)">
      {sidecars.length.toLocaleString()} ended, and replaced by a newer one of the same name
    </Text>
    <ul>
      {sidecars.map(({ id, form, bootId, lastSeen }) => (
        <Text key={bootId} component="li" size="sm" c="var(--quiet)">
          <Anchor component={Link} to={`/sidecars/${encodeURIComponent(bootId)}`} size="sm">
            <Foreign text={id} max={60} />
          </Anchor>{' '}
          ({formWords[form]}): ended {instantWords(lastSeen)}, replaced
        </Text>
      ))}
    </ul>
  </details>
);

const SidecarTable = ({ sidecars }: { readonly sidecars: readonly Sidecar[] }) => (
  <table className="rows rows-listed">
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
  return (
    <Stack gap={2} align="start">
      {problems.map((problem) => (
        <Tooltip key={problem.words} label={problem.meaning} multiline w={260} events={{ hover: true, focus: true, touch: true }}>
          <Text size="sm" span c={toneColour(problem)} tabIndex={0}>
            ! {problem.words}
          </Text>
        </Tooltip>
      ))}
    </Stack>
  );
}
