// One sidecar: its state, and how that changed while this page was open. Longer histories are in the metrics.
import { Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link, useParams } from 'react-router';
import { read } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { When } from '../parts/when.tsx';
import { problemsOf, type Sidecar } from './health.ts';
import { State } from './page.tsx';
import { Sparkline } from './sparkline.tsx';

const refreshMs = 2_000;
/** Ten minutes. */
const samplesMax = 300;

interface Sample {
  readonly revisionsBehind: number;
  readonly undelivered: number;
  readonly outageDecisions: number;
}

export function Page() {
  const { bootId = '' } = useParams();
  const { api, workspace } = useSession();
  const sidecar = useQuery({
    queryKey: ['sidecars', bootId],
    queryFn: async () => {
      for (let cursor: string | undefined; ; ) {
        const page = await read(
          api.GET('/{workspace}/admin/sidecars', {
            params: { path: { workspace }, query: { limit: 1000, ...(cursor === undefined ? {} : { cursor }) } },
          }),
        );
        const found = page.sidecars.find((one) => one.bootId === bootId);
        if (found !== undefined || page.next === undefined) return found ?? null;
        cursor = page.next;
      }
    },
    refetchInterval: refreshMs,
  });
  const samples = useSamples(sidecar.data ?? null, sidecar.dataUpdatedAt);
  useDocumentTitle(`${sidecar.data?.id ?? 'Sidecar'} · Tollgate`);
  return (
    <Loaded query={sidecar} what="The sidecar could not be read" height={240}>
      {(found) =>
        found === null ? (
          <Empty title="This sidecar is not known">
            <Text>It was started again under a new id, or it has not been seen for long.</Text>
            <Link to="/sidecars">To all sidecars</Link>
          </Empty>
        ) : (
          <Stack>
            <Title order={1} size="h2">
              <Foreign text={found.id} />
            </Title>
            <State sidecar={found} />
            <Problems sidecar={found} />
            <OverTime samples={samples} />
            <Facts sidecar={found} />
          </Stack>
        )
      }
    </Loaded>
  );
}

function useSamples(sidecar: Sidecar | null, at: number): readonly Sample[] {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    if (sidecar === null) return;
    const { lag, status } = sidecar;
    const sample: Sample = {
      revisionsBehind: lag?.revisions ?? 0,
      undelivered: status?.spool.records ?? 0,
      outageDecisions: status?.outageDecisions ?? 0,
    };
    setSamples((before) => [...before, sample].slice(-samplesMax));
    // A sample is taken at each answer, also if nothing has changed.
  }, [at]);
  return samples;
}

function Problems({ sidecar }: { readonly sidecar: Sidecar }) {
  return problemsOf(sidecar).map(({ words, meaning }) => (
    <Text key={words} size="sm" className="foreign">
      <b>{words}</b>: {meaning}
    </Text>
  ));
}

function OverTime({ samples }: { readonly samples: readonly Sample[] }) {
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Since you opened this page
      </Title>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <Sparkline name="Revisions behind" values={samples.map(({ revisionsBehind }) => revisionsBehind)} />
        <Sparkline name="Undelivered entries" values={samples.map(({ undelivered }) => undelivered)} />
        <Sparkline name="Decisions by the outage rule" values={samples.map(({ outageDecisions }) => outageDecisions)} />
      </SimpleGrid>
      <Text size="xs" c="var(--quiet)">
        For longer, collect its metrics: tollgate_policy_age_seconds, tollgate_spool_records, tollgate_outage_decisions_total.
      </Text>
    </Stack>
  );
}

function Facts({ sidecar }: { readonly sidecar: Sidecar }) {
  const { bootId, form, keyId, connectedSince, lastSeen, controlPlane, held, status } = sidecar;
  const facts = [
    ['Form', form === 'library' ? 'in the process of an agent' : 'a process of its own'],
    ['Version', status === null ? 'not reported yet' : <Foreign key="version" text={status.version} />],
    ['Decides by revision', held === null ? 'none' : held.number.toLocaleString()],
    ['Connected since', <When key="since" at={connectedSince} />],
    ['Seen', <When key="seen" at={lastSeen} />],
    ['Connected to', <Foreign key="plane" text={controlPlane} />],
    ['Key', <Foreign key="key" text={keyId} />],
    ['Id of its process', <Foreign key="boot" text={bootId} />],
  ] as const;
  return (
    <Paper withBorder p="md" bg="var(--card)">
      <Stack gap={6}>
        {facts.map(([name, value]) => (
          <Group key={name} gap="md" wrap="nowrap" align="baseline">
            <Text size="sm" c="var(--quiet)" w={160} flex="none">
              {name}
            </Text>
            <Text size="sm" component="div" className="foreign">
              {value}
            </Text>
          </Group>
        ))}
      </Stack>
    </Paper>
  );
}
