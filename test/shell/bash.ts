// Runs lines in a real bash, apart from everything: in namespaces of its own without a network, in a root that contains
// only bash and is read-only, as a user without rights, and with bounds on time, processes and files.
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What bash looked up for one line. */
export interface RunLine {
  /** The name and the words of each command. */
  readonly commands: readonly (readonly string[])[];
  /** Whether the line was run to its end. */
  readonly hasEnded: boolean;
}

const bash = '/bin/bash';
const driver = fileURLToPath(new URL('driver.sh', import.meta.url));
const batchTimeoutMs = 120_000;

// As root it becomes another user. Otherwise it is root of its own namespace alone, which is the user outside.
const isRoot = process.getuid?.() === 0;
const namespaces = [
  '--mount',
  '--net',
  '--ipc',
  '--uts',
  '--pid',
  '--fork',
  '--kill-child=SIGKILL',
  ...(isRoot ? [] : ['--user', '--map-root-user']),
];
const enter = `set -e
cd "$1"
mount -t tmpfs -o size=64m,mode=755 tmpfs root
cp -R source/. root
mkdir root/work root/dev
: > root/dev/null
mount --bind /dev/null root/dev/null
mount -t tmpfs -o size=4m,nr_inodes=4096,mode=1777 tmpfs root/work
mount -o remount,bind,ro root
exec env -i PATH=/nowhere HOME=/work LANG=C.UTF-8 "$(command -v chroot)" ${isRoot ? '--userspec=65534:65534' : ''} root ${bash} --norc --noprofile /driver`;

/** Creates a folder with bash and its libraries. */
export function createBash(): { run(lines: readonly string[]): Promise<readonly RunLine[]>; close(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bash-'));
  const source = join(folder, 'source');
  mkdirSync(join(folder, 'root'));
  const { stdout } = spawnSync('ldd', [bash], { encoding: 'utf8' });
  const libraries = [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
  for (const path of [bash, ...libraries]) {
    mkdirSync(join(source, dirname(path)), { recursive: true });
    copyFileSync(path, join(source, path));
  }
  copyFileSync(driver, join(source, 'driver'));
  return {
    async run(lines) {
      writeFileSync(join(source, 'lines'), lines.map((line) => `${line}\0`).join(''));
      return readReport(await runIn(folder), lines.length);
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function runIn(folder: string): Promise<Buffer> {
  const args = [...namespaces, bash, '-c', enter, 'bash', folder];
  const child = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: batchTimeoutMs, killSignal: 'SIGKILL' });
  const [out, errors]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (data: Buffer) => out.push(data));
  child.stderr.on('data', (data: Buffer) => errors.push(data));
  const [code] = await once(child, 'close');
  // Another code is that of the last line, or of a batch that took too long.
  if (errors.length > 0) throw new Error(`bash cannot be run apart from everything (${code}): ${Buffer.concat(errors).toString()}`);
  return Buffer.concat(out);
}

function readReport(report: Buffer, count: number): readonly RunLine[] {
  const fields = report.toString('utf8').replaceAll('\u001e', '\n').split('\0');
  const lines = Array.from({ length: count }, () => ({ commands: [] as string[][], hasEnded: false }));
  for (let at = 0; at + 1 < fields.length; ) {
    const [line, words] = [lines[Number(fields[at])], Number(fields[at + 1])];
    if (line === undefined || !Number.isInteger(words)) throw new Error(`bash reported something else at field ${at}`);
    if (words === 0) line.hasEnded = true;
    else line.commands.push(fields.slice(at + 2, at + 2 + words));
    at += 2 + words;
  }
  return lines;
}
