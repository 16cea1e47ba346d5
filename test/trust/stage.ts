// The environment of attacks: the built programs of one tree, a workspace with an agent, limits and policy, and
// everything that an attacker with a stolen key can use. `attacks.test.ts` runs them against this tree, `at.ts` against
// an earlier commit.
import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hookBody } from '../bench/side/questions.ts';
import type { Closing } from '../bench/side/stage.ts';
import { binOf, thisTree, type Tree } from '../bench/side/tree.ts';
import { createCleanup } from '../support/checkout/cleanup.ts';
import { type Answer, ask, eventually, type Program, startProgram } from '../support/programs.ts';

export interface Workspace {
  readonly slug: string;
  /** The key of its owner. */
  readonly key: string;
}

export interface Sidecar extends Program {
  /**
   * Asks for a call as a hook client does, with the given key, and returns the decision, or the status of a refusal.
   */
  call(of: { readonly key: string; readonly tool?: string; readonly session?: string }): Promise<string>;
  /** Resolves once all that it recorded is in the log, or is refused there. */
  delivered(): Promise<void>;
  isReady(): Promise<boolean>;
}

export interface Stage {
  readonly tree: Tree;
  readonly folder: string;
  /** The data folder of the control plane. */
  readonly dataDir: string;
  /** The gRPC address; it changes at each start of the control plane. */
  address(): string;
  /** The address of REST. */
  rest(): string;
  /** Of the control plane. */
  pid(): number;
  /** What the control plane has logged since its start. */
  log(): string;
  startControlPlane(): Promise<void>;
  /** As a power loss would do. */
  killControlPlane(): Promise<void>;
  /** Ends it with an orderly shutdown. */
  stopControlPlane(): Promise<void>;
  makeWorkspace(slug: string): Promise<Workspace>;
  removeWorkspace(slug: string): Promise<void>;
  ask(workspace: Workspace, path: string, question?: Parameters<typeof ask>[2]): Promise<Answer>;
  /** A service key. */
  keyWith(workspace: Workspace, scopes: readonly string[]): Promise<string>;
  /** A key for a library: with a scope of its own, where the tree supports one. */
  libraryKey(workspace: Workspace): Promise<string>;
  startSidecar(key: string, spoolDir?: string): Promise<Sidecar>;
  /** The entries of a workspace, oldest first. */
  entries(workspace: Workspace): Promise<readonly Entry[]>;
  newFolder(name: string): string;
}

export interface Entry extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly sub: string;
  readonly requestId: string;
}

const operatorKey = `operator-${'o'.repeat(40)}`;
/** An agent whose caps are never reached here. */
const agent = { name: 'free', model: 'demo/echo', enabledTools: ['server7.*', 'limited.*'], maxToolCalls: 10_000, maxToolRounds: 1_000 };
const policy = { defaults: { api: { permission: 'allow' } }, tools: { 'limited.*': { api: { rateLimit: 60 } } } };

/** `nodeArgs`: Node arguments of the control plane. */
export async function openStage(tree: Tree, folder: string, closing: Closing, nodeArgs: readonly string[] = []): Promise<Stage> {
  const dataDir = join(folder, 'plane');
  let plane: Program | null = null;
  let rest = '';
  const own = binOf(tree, 'tollgate-control-plane') ?? binOf(tree, 'tollgate');
  if (own === null) throw new Error(`${tree.name} has no program for the control plane`);
  const endControlPlane = async (signal: NodeJS.Signals): Promise<void> => void (await plane?.end(signal));
  closing.add(() => endControlPlane('SIGTERM'));

  const asked = async (url: string, key: string, question: Parameters<typeof ask>[2] = {}): Promise<Answer> => {
    const answer = await ask(url, key, question);
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  };
  const stage: Stage = {
    tree,
    folder,
    dataDir,
    address: () => plane?.announced.get('gRPC') ?? '',
    rest: () => rest,
    pid: () => plane?.pid ?? 0,
    log: () => plane?.log() ?? '',
    startControlPlane: async () => {
      plane = await startProgram([...nodeArgs, own, 'start'], {
        cwd: tree.root,
        until: 'gRPC',
        env: { TOLLGATE_PORT: '0', TOLLGATE_GRPC_PORT: '0', TOLLGATE_DATA_DIR: dataDir, TOLLGATE_OPERATOR_KEY: operatorKey },
      });
      rest = plane.announced.get('REST') ?? '';
    },
    killControlPlane: () => endControlPlane('SIGKILL'),
    stopControlPlane: () => endControlPlane('SIGTERM'),
    makeWorkspace: async (slug) => {
      const body = { slug, owner: { uid: 'owner', email: 'owner@acme.test' } };
      const { body: made } = await asked(`${rest}/api/v1/workspaces`, operatorKey, { body });
      const workspace = { slug, key: String(made['key']) };
      await asked(`${rest}/api/v1/agents`, workspace.key, { body: agent });
      await stage.ask(workspace, 'workspacePolicy', { method: 'PUT', body: policy });
      return workspace;
    },
    removeWorkspace: async (slug) =>
      void (await asked(`${rest}/api/v1/workspaces/${slug}`, operatorKey, { method: 'DELETE', body: { slug } })),
    ask: ({ slug, key }, path, question) => asked(`${rest}/${slug}/admin/${path}`, key, question),
    keyWith: async (workspace, scopes) => String((await stage.ask(workspace, 'keys', { body: { name: 'stage', scopes } })).body['key']),
    libraryKey: (workspace) => stage.keyWith(workspace, [knowsLibraries(tree) ? 'sidecar.library' : 'sidecar.sync', 'govern']),
    startSidecar: (key, spoolDir = stage.newFolder('spool')) =>
      startSidecar(tree, { key, spoolDir, controlPlane: stage.address() }, closing),
    entries: async (workspace) => {
      const { body } = await stage.ask(workspace, 'audit?limit=1000');
      const entries: readonly Entry[] = Object(body)['entries'];
      return entries.toReversed();
    },
    newFolder: (name) => mkdtempSync(join(folder, `${name}-`)),
  };
  mkdirSync(dataDir, { recursive: true });
  await stage.startControlPlane();
  return stage;
}

/** A stage of this tree, for the tests of one file; `close` ends it. */
export async function openTestStage(): Promise<{ readonly stage: Stage; readonly close: () => Promise<unknown> }> {
  const cleanup = createCleanup();
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-trust-'));
  cleanup.add(async () => rmSync(folder, { recursive: true, force: true }));
  const stage = await openStage(thisTree, folder, { add: (undo) => cleanup.add(async () => void (await undo())) });
  return { stage, close: () => cleanup.run() };
}

interface Starting {
  readonly key: string;
  readonly spoolDir: string;
  readonly controlPlane: string;
}

export async function startSidecar(tree: Tree, { key, spoolDir, controlPlane }: Starting, closing: Closing): Promise<Sidecar> {
  const own = binOf(tree, 'tollgate-sidecar');
  if (own === null) throw new Error(`${tree.name} has no program for the sidecar`);
  const program = await startProgram([own], {
    cwd: tree.root,
    until: 'hooks',
    env: { TOLLGATE_SIDECAR_PORT: '0', TOLLGATE_CONTROL_PLANE: controlPlane, TOLLGATE_KEY: key, TOLLGATE_SPOOL_DIR: spoolDir },
  });
  closing.add(() => program.end());
  return sidecarOf(program, new URL(program.announced.get('hooks') ?? '').origin);
}

/** A sidecar that can reach no control plane: no process listens at the port of `discard`. */
export const startWithout = (tree: Tree, starting: Omit<Starting, 'controlPlane'>, closing: Closing): Promise<Sidecar> =>
  startSidecar(tree, { ...starting, controlPlane: '127.0.0.1:9' }, closing);

/** Read from the built files: the words of the contract are in one file. */
const knowsLibraries = ({ root }: Tree): boolean =>
  readFileSync(join(root, 'proto/dist/contract/words.js'), 'utf8').includes('sidecar.library');

const sidecarOf = (program: Program, url: string): Sidecar => ({
  ...program,
  call: async ({ key, tool = 'server7.tool_7', session = 'session' }) => {
    const answer = await fetch(`${url}/govern/tool-use`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: hookBody(session, 'free', tool),
    });
    const text = await answer.text();
    if (!answer.ok) return String(answer.status);
    return text.includes('"allow"') ? 'allow' : 'deny';
  },
  delivered: async () => {
    await eventually(
      async () => (await fetch(`${url}/metrics`)).text(),
      (text) => /^tollgate_spool_records(?:\{[^}]*\})? 0$/m.test(text),
      30_000,
    );
  },
  isReady: async () => (await fetch(`${url}/readyz`)).ok,
});

/** Spools that processes left in a folder. */
export const spoolsIn = (folder: string): readonly string[] =>
  existsSync(folder) ? readdirSync(folder).filter((name) => /^[0-9a-f]{32}$/.test(name)) : [];

/**
 * As a person could who can write to the folder, or whose volume was restored. Sockets of dead processes are not
 * copied.
 */
export function copySpool(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  cpSync(from, to, { recursive: true, filter: (path) => !/alive\.\d+$/.test(path) });
}

/** 32 bytes that the attacker invents; as text, since the first version used a word for a holder. */
export const madeUp = (): Buffer => Buffer.from(randomBytes(16).toString('hex'));
