// `tollgate sidecars`: lists the sidecars that follow the policy of the workspace, with their state.
import type { Command } from 'commander';
import { readAllPages } from '../api/all-pages.ts';
import { isRow, numberIn, type Row, rowsIn } from '../api/answer.ts';
import { toSecond } from '../print/table.ts';
import { act, type Asked, type Cli } from '../command.ts';

export function addSidecarCommands(program: Command, cli: Cli): void {
  const group = program.command('sidecars').description('sidecars of the workspace');
  group
    .command('list', { isDefault: true })
    .description('list the sidecars, connected ones first: revision, lag and status')
    .action(act(cli, listSidecars));
}

async function listSidecars({ print, client }: Asked<object>): Promise<void> {
  const answer = await readAllPages(await client(), '/{workspace}/admin/sidecars', 'sidecars');
  await print.table(answer, rowsIn(answer, 'sidecars'), {
    empty: 'no sidecar has connected yet',
    columns: [
      { head: 'id', of: (row) => row['id'] },
      { head: 'form', of: (row) => row['form'] },
      { head: 'version', of: (row) => part(row, 'status', 'version') },
      {
        head: 'connected',
        of: (row) => (row['connected'] === true ? row['connectedSince'] : `no, seen ${toSecond(String(row['lastSeen']))}`),
      },
      { head: 'revision', of: (row) => part(row, 'held', 'number') },
      { head: 'behind', of: behind },
      { head: 'spool', of: (row) => part(row, 'status', 'spool', 'records') },
      { head: 'unrecorded', of: (row) => part(row, 'status', 'unrecorded') },
      { head: 'outage', of: (row) => part(row, 'status', 'outageDecisions') },
      { head: 'clock', of: clock },
      { head: 'lacks', of: (row) => row['lacks'] },
      { head: 'not taken', of: (row) => part(row, 'status', 'refused', 'spools') },
      { head: 'refused', of: (row) => part(row, 'lastNack', 'code') },
    ],
  });
  if (!print.json) print.note(`the newest revision is ${numberIn(answer, 'revision')}`);
}

/** Clocks that NTP keeps do not differ by so much. */
const clockSecondsMax = 60;

/** Returns how far the clock of a sidecar is from that of the control plane; nothing if it is right. */
function clock(row: Row): unknown {
  const ahead = part(row, 'status', 'clockAheadSeconds');
  if (typeof ahead !== 'number' || Math.abs(ahead) <= clockSecondsMax) return null;
  return `${Math.abs(ahead)} s ${ahead > 0 ? 'ahead' : 'behind'}`;
}

/** Returns a nested field; null when it does not exist. */
function part(value: unknown, ...names: readonly string[]): unknown {
  return names.reduce((of: unknown, name) => (isRow(of) ? (of[name] ?? null) : null), value);
}

function behind(row: Row): unknown {
  const revisions = part(row, 'lag', 'revisions');
  if (revisions === null && part(row, 'held') !== null) return 'of another past';
  return typeof revisions === 'number' && revisions > 0 ? `${revisions} (${Math.round(Number(part(row, 'lag', 'seconds')))} s)` : revisions;
}
