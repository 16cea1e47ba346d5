// One sidecar: its state now, with how its numbers changed while this page was open. Longer histories are in the metrics.
import { Box, Code, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useParams } from 'react-router';
import { useSession } from '../app/session.tsx';
import { Back } from '../parts/back.tsx';
import { Fact, Facts } from '../parts/facts.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { Section } from '../parts/section.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { instantWords, lengthWords, When } from '../parts/when.tsx';
import { divide, readSidecars, type Sidecar } from './data.ts';
import { formWords, problemsOf } from './health.ts';
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
      const all: Sidecar[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await readSidecars(api, workspace, { limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
        all.push(...page.sidecars);
        const found = page.sidecars.find((one) => one.bootId === bootId);
        if (found !== undefined) return { ...found, isReplaced: divide(all).replaced.includes(found) };
        if (page.next === undefined) return null;
        cursor = page.next;
      }
    },
    refetchInterval: refreshMs,
  });
  const samples = useSamples(sidecar.data ?? null, sidecar.dataUpdatedAt);
  useDocumentTitle(`${sidecar.data?.id ?? 'Sidecar'} · Tollgate`);
  return (
    <Stack>
      <Back to="/sidecars" list="Sidecars" />
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
                {found.isReplaced ? (
                  <Text size="sm" c="var(--quiet)">
                    ended {instantWords(found.lastSeen)}, replaced by a newer one of the same name
                  </Text>
                ) : (
                  <State sidecar={found} />
                )}
              </Box>
              {!found.isReplaced && <Problems sidecar={found} />}
              <Now sidecar={found} samples={samples} />
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

function Now({ sidecar, samples }: { readonly sidecar: Sidecar; readonly samples: readonly Sample[] }) {
  const { connected, lastSeen } = sidecar;
  const policy = policyWords(sidecar);
  const { entries, outage } = statusWords(sidecar);
  return (
    <Stack gap="xs">
      <Title order={2} size="h5">
        {connected ? 'Now' : `When it was seen last, ${instantWords(lastSeen)}`}
      </Title>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <Sparkline name="Policy" {...policy} values={samples.map(({ revisionsBehind }) => revisionsBehind)} />
        <Sparkline name="Entries not delivered" {...entries} values={samples.map(({ undelivered }) => undelivered)} />
        <Sparkline name="Decisions by the outage rule" {...outage} values={samples.map(({ outageDecisions }) => outageDecisions)} />
      </SimpleGrid>
      <Text size="xs" c="var(--quiet)">
        The lines are of the time since you opened this page. For longer histories let Prometheus collect <Code fz="xs">/metrics</Code> of
        the sidecar: <Code fz="xs">tollgate_policy_age_seconds</Code> (the time since it heard from the control plane),{' '}
        <Code fz="xs">tollgate_spool_records</Code> (entries not delivered) and <Code fz="xs">tollgate_outage_decisions_total</Code>.
      </Text>
    </Stack>
  );
}

interface TileWords {
  readonly value: string;
  readonly detail: string;
}

function policyWords({ held, lag, behindSince }: Sidecar): TileWords {
  if (held === null) return { value: 'none', detail: 'it denies every call' };
  const revision = `it decides by revision ${held.number.toLocaleString()}`;
  if (lag === null) return { value: 'unknown', detail: `${revision}, from before a restore` };
  if (behindSince === null) return { value: 'up to date', detail: revision };
  return {
    value: `${lag.revisions.toLocaleString()} behind`,
    detail: `for ${lengthWords(lag.seconds)} (since ${instantWords(behindSince)}); ${revision}`,
  };
}

function statusWords({ status }: Sidecar): { readonly entries: TileWords; readonly outage: TileWords } {
  if (status === null) {
    const none = { value: '–', detail: 'not reported yet' };
    return { entries: none, outage: none };
  }
  const { spool, outageDecisions } = status;
  return {
    entries: {
      value: spool.records.toLocaleString(),
      detail: spool.records === 0 ? 'all are in the audit log' : `the oldest waits for ${lengthWords(spool.ageSeconds)}`,
    },
    outage: { value: outageDecisions.toLocaleString(), detail: 'since its start, without hearing from the control plane' },
  };
}

function Profile({ sidecar }: { readonly sidecar: Sidecar }) {
  const { bootId, form, keyId, connected, connectedSince, lastSeen, controlPlane, held, status } = sidecar;
  return (
    <Section title="Profile">
      <Facts>
        <Fact name="Runs as">{formWords[form]}</Fact>
        <Fact name="Version">{status === null ? 'not reported yet' : <Foreign text={status.version} />}</Fact>
        <Fact name="Policy revision">{held === null ? 'none' : held.number.toLocaleString()}</Fact>
        <Fact name={connected ? 'Connected since' : 'Last connected at'}>
          <When at={connectedSince} />
        </Fact>
        <Fact name={connected ? 'Last seen' : 'Not connected since'}>
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
