// One sidecar: its state, and how that changed while this page was open. Longer histories are in the metrics.
import { Anchor, Box, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link, useParams } from 'react-router';
import { read } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { Fact, Facts } from '../parts/facts.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { Section } from '../parts/section.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { When } from '../parts/when.tsx';
import { problemsOf, type Sidecar } from './health.ts';
import { formWords, State } from './page.tsx';
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
    <Stack>
      <Anchor component={Link} to="/sidecars" size="sm">
        All sidecars
      </Anchor>
      <Loaded query={sidecar} what="The sidecar could not be read" height={240}>
        {(found) =>
          found === null ? (
            <Empty title="This sidecar is not known" order={1}>
              <Text size="sm">It was started again, which gives it a new boot id, or it has not been seen for long.</Text>
            </Empty>
          ) : (
            <Stack>
              <Box className="alone">
                <Title order={1} size="h3">
                  <Foreign text={found.id} />
                </Title>
                <State sidecar={found} />
              </Box>
              <Problems sidecar={found} />
              <OverTime samples={samples} />
              <Profile sidecar={found} />
            </Stack>
          )
        }
      </Loaded>
    </Stack>
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
      <Title order={2} size="h5">
        Since you opened this page
      </Title>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <Sparkline name="Revisions behind" values={samples.map(({ revisionsBehind }) => revisionsBehind)} />
        <Sparkline name="Undelivered entries" values={samples.map(({ undelivered }) => undelivered)} />
        <Sparkline name="Decisions by the outage rule" values={samples.map(({ outageDecisions }) => outageDecisions)} />
      </SimpleGrid>
      <Text size="xs" c="var(--quiet)">
        Its metrics have longer histories: tollgate_policy_age_seconds, tollgate_spool_records, tollgate_outage_decisions_total.
      </Text>
    </Stack>
  );
}

function Profile({ sidecar }: { readonly sidecar: Sidecar }) {
  const { bootId, form, keyId, connectedSince, lastSeen, controlPlane, held, status } = sidecar;
  return (
    <Section title="Profile">
      <Facts>
        <Fact name="Runs as">{formWords[form]}</Fact>
        <Fact name="Version">{status === null ? 'not reported yet' : <Foreign text={status.version} />}</Fact>
        <Fact name="Policy revision">{held === null ? 'none' : held.number.toLocaleString()}</Fact>
        <Fact name="Connected since">
          <When at={connectedSince} />
        </Fact>
        <Fact name="Last seen">
          <When at={lastSeen} />
        </Fact>
        <Fact name="Control plane">
          <Foreign text={controlPlane} />
        </Fact>
        <Fact name="Key">
          <Foreign text={keyId} />
        </Fact>
        <Fact name="Boot id">
          <Foreign text={bootId} />
        </Fact>
      </Facts>
    </Section>
  );
}
