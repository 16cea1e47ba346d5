// Finds out why Codex would not run our hooks although its settings contain them. Codex runs a hook only after its user
// has trusted it. Only Codex knows for certain which hooks it runs, so it is asked with `codex app-server` (JSON lines
// on standard input and output). If Codex does not answer, its settings are read instead.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { isRow, type Row } from '../api/answer.ts';
import { stateKey, type Trust, trustOf } from './codex-trust.ts';
import { isOurs } from './handler.ts';
import type { Scope } from './host.ts';
import { hostSettings } from './host-settings.ts';
import { findProgram } from './host-version.ts';
import { namesOf } from './installation.ts';
import { pathsOf } from './paths.ts';
import type { Here } from './records.ts';
import { readSettings } from './settings-file.ts';
import { type Place, placesIn, statesIn } from './hook-places.ts';
import { parseToml } from './edit-toml.ts';

interface Hooks {
  readonly scope: Scope;
  readonly path: string;
  /** The text of the file at `path`. */
  readonly text: string;
}

/** Returns the reasons in words, each with what to do; empty: Codex runs the hooks. */
export async function whyCodexSkips(here: Here, { scope, path, text }: Hooks): Promise<readonly string[]> {
  const ours = placesIn(parseToml(text)).filter(({ handler }) => isOurs('codex', handler));
  const names = await namesOf(path);
  const program = await findProgram(here, hostSettings.codex.programs);
  const said = program === null ? null : await askCodex({ program, env: here.env, cwd: here.cwd });
  if (said !== null) return words(ours.map((place) => [place, names.map((name) => said.get(stateKey(name, place))).find(isKnown) ?? null]));
  const user = parseToml((await readSettings(hostSettings.codex.file('user', here, here.cwd))) ?? '');
  const isRead = scope === 'user' || isTrustedFolder(here, user);
  return words(ours.map((place) => [place, isRead ? trustOf(statesIn(user), names, place) : null]));
}

const isKnown = (trust: Trust | undefined): boolean => trust !== undefined;

/** Returns the reasons in words. A trust of null means that Codex does not read the file. */
function words(found: readonly (readonly [Place, Trust | null])[]): readonly string[] {
  const all = found.flatMap(([{ event }, trust]) => {
    switch (trust) {
      case 'trusted':
        return [];
      case 'untrusted':
        return [`Codex has not trusted this hook yet (${event}): open /hooks in Codex and trust it`];
      case 'changed':
        return [`Codex has trusted an earlier form of this hook (${event}): open /hooks in Codex and trust the present form`];
      case 'disabled':
        return [`this hook is disabled in Codex (${event}): open /hooks in Codex and enable it`];
      case null:
        return ['Codex does not read the settings of this folder: start Codex here and trust the folder'];
    }
  });
  return [...new Set(all)];
}

/** Whether Codex trusts the current folder or a parent of it. */
function isTrustedFolder(here: Here, user: Row): boolean {
  const path = pathsOf(here);
  const projects = isRow(user['projects']) ? Object.entries(user['projects']) : [];
  return projects.some(([folder, project]) => {
    const below = path.relative(folder, here.cwd);
    return isRow(project) && project['trust_level'] === 'trusted' && !below.startsWith('..') && !path.isAbsolute(below);
  });
}

interface Asking {
  readonly program: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder in which Codex would run; it determines the hooks. */
  readonly cwd: string;
  readonly timeoutMs?: number;
}

/** Returns the trust of each hook, by the key that Codex uses for it. Null: Codex did not answer. */
function askCodex({ program, env, cwd, timeoutMs = 5_000 }: Asking): Promise<ReadonlyMap<string, Trust> | null> {
  return new Promise((done) => {
    const child = spawn(program, ['app-server'], {
      env: { ...env },
      cwd,
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    const send = (message: Row): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
    child.on('error', () => done(null));
    child.on('close', () => done(null));
    child.stdin.on('error', () => undefined);
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { id, result } = messageIn(line);
      if (id === 1) {
        send({ method: 'initialized' });
        send({ id: 2, method: 'hooks/list', params: { cwds: [cwd] } });
      }
      if (id !== 2) return;
      done(trustsIn(result));
      child.kill('SIGKILL');
    });
    send({ id: 1, method: 'initialize', params: { clientInfo: { name: 'tollgate-doctor', version: '1' } } });
  });
}

function messageIn(line: string): Row {
  try {
    const message: unknown = JSON.parse(line);
    return isRow(message) ? message : {};
  } catch {
    return {};
  }
}

function trustsIn(result: unknown): ReadonlyMap<string, Trust> | null {
  const data = isRow(result) ? result['data'] : undefined;
  if (!Array.isArray(data)) return null;
  const hooks = data.filter(isRow).flatMap(({ hooks: listed }) => (Array.isArray(listed) ? listed.filter(isRow) : []));
  return new Map(hooks.flatMap((hook) => (typeof hook['key'] === 'string' ? [[hook['key'], trustIn(hook)] as const] : [])));
}

function trustIn({ enabled, trustStatus }: Row): Trust {
  if (enabled !== true) return 'disabled';
  if (trustStatus === 'trusted' || trustStatus === 'managed') return 'trusted';
  return trustStatus === 'untrusted' ? 'untrusted' : 'changed';
}
