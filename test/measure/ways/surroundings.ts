// Starts the built programs that are measured, by their public surfaces: a control plane with an embedded database in a
// temporary folder, a sidecar process and an agent with the library, both behind a relay. Called by ways.ts.
// Only this file and ways.ts contain the names of public surfaces: `npm start`, the package and the command of the
// sidecar, variables, paths of REST.
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Cleanup } from '../../support/checkout/cleanup.ts';
import { packageImport } from '../static/resolve.ts';
import { isRecord, type Tree } from '../../support/checkout/tree.ts';
import { nextMessage, type Program, startProgram, untilReady } from './programs.ts';
import { findFreePort, openRelay, type Relay } from './relay.ts';
import { type Ask, createAsk } from './rest.ts';

const libraryName = '@tollgate/sidecar';
const sidecarCommand = 'tollgate-sidecar';
const ownerKey = `gsk_default_${'m'.repeat(40)}`;
/** A development dependency of this repository: the measured tree might not have it. */
const toolServer = fileURLToPath(new URL('../../../node_modules/.bin/mcp-server-everything', import.meta.url));
const agentProgram = fileURLToPath(new URL('library-agent.js', import.meta.url));

export const agentName = 'measured';
export const toolName = 'files.read';

export interface Surroundings {
  readonly controlPlane: Program;
  readonly sidecar: Program;
  readonly agent: Program;
  readonly askControlPlane: Ask;
  readonly askSidecar: Ask;
  /** Between the control plane and both sidecars. */
  readonly relay: Relay;
  /** Registers an agent of `demo/echo` and the tool server that it calls; returns the agent's id. */
  prepareRuns(): Promise<string>;
}

export async function startSurroundings(tree: Tree, cleanup: Cleanup): Promise<Surroundings> {
  // The account of the embedded database must be able to enter the folder.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tollgate-measure-')));
  chmodSync(folder, 0o755);
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }));
  const [restPort, grpcPort, sidecarPort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const { root } = tree;
  const controlPlane = await startProgram({
    name: 'the control plane',
    args: startArguments(tree),
    cwd: root,
    cleanup,
    env: controlPlaneVariables({ folder, restPort, grpcPort }),
  });
  const rest = `http://127.0.0.1:${restPort}`;
  await untilReady(controlPlane, `${rest}/readyz`);
  const askControlPlane = createAsk(rest, ownerKey);
  await preparePolicy(askControlPlane);
  const relay = await openRelay(grpcPort);
  cleanup.add(() => relay.close());

  const syncKey = await createKey(askControlPlane, ['sidecar.sync']);
  const address = `127.0.0.1:${relay.port}`;
  const sidecar = await startProgram({
    name: 'the sidecar',
    args: [join(root, commandPath(tree, sidecarCommand))],
    cwd: root,
    cleanup,
    env: {
      TOLLGATE_CONTROL_PLANE: address,
      TOLLGATE_KEY: syncKey,
      TOLLGATE_SIDECAR_PORT: String(sidecarPort),
      TOLLGATE_SPOOL_DIR: join(folder, 'sidecar'),
      TOLLGATE_LOG_LEVEL: 'warn',
    },
  });
  const sidecarUrl = `http://127.0.0.1:${sidecarPort}`;
  await untilReady(sidecar, `${sidecarUrl}/readyz`);

  const agentKey = await createKey(askControlPlane, ['sidecar.sync', 'govern']);
  const agentVariables = { CONTROL_PLANE: address, KEY: agentKey, SPOOL: join(folder, 'agent'), AGENT: agentName, TOOL: toolName };
  const agent = await startProgram({ name: 'the agent', args: [agentProgram, libraryUrl(tree)], cwd: root, cleanup, env: agentVariables });
  // The agent sends a message once it has connected.
  if ((await nextMessage(agent.child)) === null) throw new Error(`the agent ended before it was connected:\n${agent.log()}`);
  return {
    controlPlane,
    sidecar,
    agent,
    askControlPlane,
    relay,
    askSidecar: createAsk(sidecarUrl, ownerKey),
    prepareRuns: () => prepareRuns(askControlPlane),
  };
}

const controlPlaneVariables = (at: { readonly folder: string; readonly restPort: number; readonly grpcPort: number }) => ({
  TOLLGATE_DATA_DIR: join(at.folder, 'control-plane'),
  TOLLGATE_OWNER_KEY: ownerKey,
  TOLLGATE_PORT: String(at.restPort),
  TOLLGATE_GRPC_PORT: String(at.grpcPort),
  TOLLGATE_TOOL_COMMANDS: toolServer,
  TOLLGATE_LOG_LEVEL: 'warn',
});

/** The command that `npm start` runs after the build: the arguments of its `node`. */
function startArguments(tree: Tree): readonly string[] {
  const manifest: unknown = JSON.parse(tree.read('package.json'));
  const scripts = isRecord(manifest) ? manifest['scripts'] : undefined;
  const script = isRecord(scripts) ? String(scripts['start']) : '';
  const found = /\bnode\s+([^&|;]+)$/.exec(script)?.[1]?.trim().split(/\s+/);
  if (found === undefined) throw new Error(`the script \`start\` of package.json ends in no \`node …\`: ${script}`);
  return found;
}

function commandPath({ workspaces }: Tree, command: string): string {
  for (const { folder, manifest } of workspaces) {
    const { bin } = manifest;
    if (isRecord(bin) && typeof bin[command] === 'string') return join(folder, bin[command]);
  }
  throw new Error(`no workspace has the command ${command} in its \`bin\``);
}

function libraryUrl({ root, workspaces }: Tree): string {
  const path = packageImport(workspaces, libraryName, ['node', 'import', 'default']);
  if (path === null) throw new Error(`no workspace exports ${libraryName}`);
  return pathToFileURL(join(root, path)).href;
}

/**
 * Registers an agent, and writes a policy that redacts. It has no rate limit: leases share a limit, which needs the
 * control plane, and calls are measured without it.
 */
async function preparePolicy(ask: Ask): Promise<void> {
  await ask('PUT', '/default/admin/workspacePolicy', { defaults: { api: { transform: 'redact' } } });
  await ask('POST', '/api/v1/agents', { name: agentName, model: 'demo/echo', enabledTools: ['files.*'] });
}

async function createKey(ask: Ask, scopes: readonly string[]): Promise<string> {
  return String((await ask('POST', '/default/admin/keys', { name: scopes.join(' '), scopes }))['key']);
}

async function prepareRuns(ask: Ask): Promise<string> {
  await ask('POST', '/default/admin/toolServers', { name: 'every', command: [toolServer] });
  return String((await ask('POST', '/api/v1/agents', { name: 'sums', model: 'demo/echo', enabledTools: ['every.*'] }))['id']);
}
