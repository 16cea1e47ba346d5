// Exporters over a test database, with short intervals where real ones wait; and the comparison of a copy with the log.
import { hash } from 'node:crypto';
import { expect } from 'vitest';
import { createCollector } from '../../control-plane/audit/export/collector.ts';
import { createDelivery } from '../../control-plane/audit/export/delivery.ts';
import { valueAfterEntry, valueAfterGap } from '../../proto/chain/link.ts';
import { createExporter, type Exporter } from '../../control-plane/audit/export/exporter.ts';
import { standardPace } from '../../control-plane/audit/export/pace.ts';
import type { Collector, LogRecord } from '../support/collector.ts';
import type { Rest } from './rest.ts';

export interface TestExporter extends Exporter {
  readonly counted: Record<'exported' | 'lost' | 'rejected', number> & { readonly failed: string[] };
  readonly said: { readonly level: string; readonly message: string; readonly fields: object }[];
}

type Pace = Parameters<typeof createExporter>[1];

const quick = {
  ...standardPace,
  // Longer than a busy machine may stop a process: no test waits for its end.
  leaseMs: 60_000,
  renewMs: 20,
  lookMs: 5,
  lagMs: 0,
  closeMs: 100,
  againMs: 2,
  againMsMax: 10,
  refusedMs: 10,
  retryAfterMsMax: 20,
};

export function startExporter(
  rest: Rest,
  collector: Pick<Collector, 'url'>,
  { pace = {}, answerMs = 20_000, headers = {} }: Asked = {},
): TestExporter {
  const counted = { exported: 0, lost: 0, rejected: 0, failed: [] as string[] };
  const said: TestExporter['said'][number][] = [];
  const say = (level: string) => (fields: object, message: string) => void said.push({ level, message, fields });
  const http = createCollector({ endpoint: collector.url, headers, answerMs }, Date.now);
  const exporter = createExporter(
    {
      ...rest.deps,
      deliver: createDelivery(http),
      metrics: {
        exported: (records) => void (counted.exported += records),
        lost: (records) => void (counted.lost += records),
        rejected: (records) => void (counted.rejected += records),
        failed: (kind) => void counted.failed.push(kind),
      },
      now: () => performance.now(),
      log: { info: say('info'), warn: say('warn'), error: say('error') },
    },
    { ...quick, ...pace },
  );
  const close = async (): Promise<void> => {
    await exporter.close();
    await http.close();
  };
  return {
    get lag() {
      return exporter.lag;
    },
    get isSending() {
      return exporter.isSending;
    },
    problems: () => exporter.problems(),
    counted,
    said,
    close,
  };
}

interface Asked {
  readonly pace?: Partial<NonNullable<Pace>>;
  readonly answerMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export const positionOf = ({ attributes }: LogRecord): number => Number(attributes['tollgate.chain.position']);
export const workspaceOf = ({ attributes }: LogRecord): string => String(attributes['tollgate.workspace']);

/** The records of a workspace by their positions, each once. */
export function copyOf(records: readonly LogRecord[], workspace: string): readonly LogRecord[] {
  const own = records.filter((record) => workspaceOf(record) === workspace);
  const byPosition = new Map(own.toSorted((a, b) => positionOf(a) - positionOf(b)).map((record) => [positionOf(record), record]));
  return [...byPosition.values()];
}

/** Checks the copy alone: every position from 1 to the head exists, and each record matches its chain value. */
export function expectWhole(records: readonly LogRecord[], workspace: string, head: number): void {
  const copy = copyOf(records, workspace);
  expect(copy.map(positionOf)).toEqual(Array.from({ length: head }, (_, at) => at + 1));
  for (const [at, record] of copy.slice(1).entries()) expectFollows(String(copy[at]?.attributes['tollgate.chain.value']), record);
}

/** Checks that its chain value continues the previous one. */
function expectFollows(before: string, { attributes, body, at, eventName }: LogRecord): void {
  const digest = String(attributes['tollgate.chain.digest']);
  const time = new Date(Number(at / 1_000_000n)).toISOString();
  const after = eventName === 'tollgate.audit.gap' ? valueAfterGap(before, time, digest) : valueAfterEntry(before, time, digest);
  expect(attributes['tollgate.chain.value']).toBe(after);
  if (eventName === 'tollgate.audit.retired' || attributes['tollgate.entry.brief'] === true) return;
  expect(digest).toBe(hash('sha256', `${attributes['tollgate.chain.position']}\n${body}`, 'hex'));
}

export async function headOf(rest: Rest, slug: string): Promise<number> {
  const { rows } = await rest.pool.query<{ ingest: string }>(
    'select ingest from audit_head join workspace on id = workspace_id where slug = $1',
    [slug],
  );
  return Number(rows[0]?.ingest ?? 0);
}

/** The position of its cursor; 0: no cursor. */
export async function cursorOf(rest: Rest, slug = 'acme'): Promise<number> {
  const { rows } = await rest.pool.query<{ position: string }>(
    'select position from audit_export join workspace on id = workspace_id where slug = $1',
    [slug],
  );
  return Number(rows[0]?.position ?? 0);
}
