// Proves that the log was not changed: checkpoints, and what it takes to verify an export against them.
import { Anchor, Button, Code, CopyButton, Drawer, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { readPages } from '../api/all-pages.ts';
import { ApiError, read } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { Loaded, Refused } from '../parts/states.tsx';
import { When } from '../parts/when.tsx';

const verifyCommand = 'tollgate audit verify log.ndjson --checkpoint checkpoint.txt --public-key keys.txt';

export default function Proof({ close }: { readonly close: () => void }) {
  const { workspace } = useSession();
  return (
    <Drawer opened onClose={close} position="right" size="lg" title="Prove that the log was not changed">
      <Stack gap="lg">
        <Text size="sm">
          Each entry continues a chain of hashes. A checkpoint is a signed statement of how many items the log has, and of the value of the
          chain after them. With a checkpoint that you kept, you can later show whether any of these items was changed, dropped, put in or
          moved.
        </Text>
        <Step title="1. Keep a checkpoint">
          <Checkpoint />
        </Step>
        <Step title="2. Keep the public keys">
          <Keys />
        </Step>
        <Step title="3. Later, export the log with its chain">
          <Anchor href={`/${workspace}/admin/audit/chain`} download="log.ndjson" size="sm">
            Download log.ndjson
          </Anchor>
          <Text size="sm" c="var(--quiet)">
            Or: <code>tollgate audit export --proof -o log.ndjson</code>
          </Text>
        </Step>
        <Step title="4. Verify it, anywhere, without server or database">
          <Copied text={verifyCommand} />
          <Text size="sm">
            Exit code 0: nothing was changed since the checkpoint. 1: the first item that does not fit is named. 2: it cannot tell, for
            example without the keys.
          </Text>
        </Step>
        <Step title="Entries that never arrived">
          <Gaps />
        </Step>
      </Stack>
    </Drawer>
  );
}

function Step({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Stack gap={6} align="stretch" component="section">
      <Title order={3} size="h6">
        {title}
      </Title>
      {children}
    </Stack>
  );
}

function Copied({ text, file }: { readonly text: string; readonly file?: string }) {
  return (
    <Stack gap={6} align="start">
      <Code block w="100%" className="foreign" style={{ whiteSpace: 'pre-wrap' }} tabIndex={0}>
        {text}
      </Code>
      <Group gap="xs">
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button size="compact-xs" variant="default" onClick={copy}>
              {copied ? 'Copied' : 'Copy'}
            </Button>
          )}
        </CopyButton>
        {file !== undefined && (
          <Button size="compact-xs" variant="default" onClick={() => saveAs(file, text)}>
            Save as {file}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

function saveAs(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

function Checkpoint() {
  const { api, workspace } = useSession();
  const queries = useQueryClient();
  const params = { params: { path: { workspace } } };
  const key = ['checkpoint', workspace];
  const newest = useQuery({
    queryKey: key,
    queryFn: async () => {
      try {
        return await read(api.GET('/{workspace}/admin/audit/checkpoint', params));
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
  });
  const make = useMutation({
    mutationFn: () => read(api.POST('/{workspace}/admin/audit/checkpoint', params)),
    onSuccess: (made) => queries.setQueryData(key, made),
  });
  const { data } = newest;
  return (
    <>
      <Text size="sm">
        {data === undefined ? ' ' : data === null ? 'None was made yet.' : `The newest one covers ${data.size.toLocaleString()} items.`}{' '}
        Store it where no one who can write to the database can change it.
      </Text>
      {newest.error !== null && <Refused error={newest.error} what="The newest checkpoint could not be read" />}
      {make.error !== null && <Refused error={make.error} what="No checkpoint was made" />}
      {data != null && <Copied text={data.checkpoint} file="checkpoint.txt" />}
      <Button size="xs" onClick={() => make.mutate()} loading={make.isPending} style={{ alignSelf: 'flex-start' }}>
        Make a checkpoint of everything that has arrived
      </Button>
    </>
  );
}

const gapsPage = 50;

/** What sidecars recorded and could not deliver. */
function Gaps() {
  const { api, workspace } = useSession();
  const gaps = useInfiniteQuery({
    queryKey: ['gaps', workspace],
    queryFn: ({ pageParam }) => {
      const query = { limit: gapsPage, ...(pageParam !== '' && { cursor: pageParam }) };
      return read(api.GET('/{workspace}/admin/audit/gaps', { params: { path: { workspace }, query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  });
  return (
    <Loaded query={gaps} what="The gaps of the log could not be read" height={40}>
      {({ pages }) => {
        const all = pages.flatMap((page) => page.gaps);
        if (all.length === 0) return <Text size="sm">No entries are missing: all that sidecars announced has arrived.</Text>;
        return (
          <>
            <Text size="sm">
              Sidecars recorded these and could not deliver them. Each gap is an item of the export, and counts in the chain.
            </Text>
            <Stack component="ul" gap="xs" m={0} pl={18} fz="sm">
              {all.map(({ n, spoolId, firstSequence, lastSequence, records, reason, receivedAt }) => (
                <li key={n}>
                  {records === 1 ? '1 entry is' : `${records.toLocaleString()} entries are`} missing: <Foreign text={reason} max={400} />
                  <Text size="xs" c="var(--quiet)">
                    Known since <When at={receivedAt} hasDate />. Item {n.toLocaleString()}, spool <Foreign text={spoolId} max={80} />,
                    records {firstSequence} to {lastSequence}.
                  </Text>
                </li>
              ))}
            </Stack>
            {gaps.hasNextPage && (
              <Button size="xs" variant="default" onClick={() => void gaps.fetchNextPage()} loading={gaps.isFetchingNextPage}>
                Older gaps
              </Button>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

function Keys() {
  const { api, workspace } = useSession();
  const keys = useQuery({
    queryKey: ['log keys', workspace],
    queryFn: async () => {
      const pages = await readPages((query) => read(api.GET('/{workspace}/admin/audit/keys', { params: { path: { workspace }, query } })));
      return { origin: pages[0]?.origin ?? '', keys: pages.flatMap((page) => page.keys) };
    },
  });
  if (keys.error !== null) return <Refused error={keys.error} what="The keys could not be read" retry={() => void keys.refetch()} />;
  if (keys.data === undefined) return <Skeleton height={60} role="status" aria-label="loading" />;
  const newest = keys.data.keys.at(-1);
  return (
    <>
      <Text size="sm">
        Checkpoints of the log <code>{keys.data.origin}</code> are signed by them.{' '}
        {newest !== undefined && (
          <>
            The newest is from <When at={newest.since} hasDate />.
          </>
        )}
      </Text>
      <Copied text={`${keys.data.keys.map(({ key }) => key).join('\n')}\n`} file="keys.txt" />
    </>
  );
}
