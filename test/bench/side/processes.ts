// Reads the usage of programs from the process table (Linux): CPU seconds of a program with all its descendants, and
// their memory.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  /** In seconds, without its children. */
  readonly own: number;
  /** In seconds, of its ended children; the kernel adds this when they end. */
  readonly ended: number;
  /** In ticks since the machine started: together with the pid it identifies a process uniquely. */
  readonly startedAt: number;
}

export type ProcessTable = ReadonlyMap<number, ProcessRow>;

export function readProcesses(): ProcessTable {
  const rows = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readRow(Number(name)))
    .filter((row) => row !== null);
  return new Map(rows.map((row) => [row.pid, row]));
}

function readRow(pid: number): ProcessRow | null {
  const stat = readOrNull(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The name is in parentheses and may hold any character.
  const [begin, end] = [stat.indexOf('('), stat.lastIndexOf(')')];
  const fields = stat.slice(end + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  const seconds = (ticks: number): number => ticks / ticksPerSecond;
  return {
    pid,
    parent: field(4),
    name: stat.slice(begin + 1, end),
    own: seconds(field(14) + field(15)),
    ended: seconds(field(16) + field(17)),
    startedAt: field(22),
  };
}

/** That process and all its descendants. */
export function treeOf(pid: number, table: ProcessTable): ReadonlySet<number> {
  const tree = new Set([pid]);
  // A child may come before its parent in the table.
  for (let before = 0; before !== tree.size; ) {
    before = tree.size;
    for (const row of table.values()) if (tree.has(row.parent)) tree.add(row.pid);
  }
  return tree;
}

/** CPU seconds that the process and all its descendants have used so far. */
export function cpuSecondsOf(pid: number): number {
  const table = readProcesses();
  const rows = [...treeOf(pid, table)].flatMap((each) => table.get(each) ?? []);
  return rows.reduce((sum, { own, ended }) => sum + own + ended, 0);
}

/** Bytes of memory of the process and all its descendants; shared pages are divided among them (PSS). */
export function pssBytesOf(pid: number): number {
  return [...treeOf(pid, readProcesses())].reduce((sum, each) => sum + pssOfOne(each), 0);
}

function pssOfOne(pid: number): number {
  const rollup = readOrNull(`/proc/${pid}/smaps_rollup`);
  const kilobytes = rollup === null ? null : /^Pss: +(\d+) kB$/m.exec(rollup)?.[1];
  // A process that has ended meanwhile uses nothing.
  if (kilobytes === null && readOrNull(`/proc/${pid}/stat`) === null) return 0;
  if (kilobytes == null) throw new Error(`the memory of process ${pid} cannot be read: /proc/${pid}/smaps_rollup (as root it can)`);
  return Number(kilobytes) * 1024;
}

/** Null: the process has ended. */
function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
