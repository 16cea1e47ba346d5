// Finds the files that run for a governed call, a policy change, an entry and a run, in the built programs. Called by
// main.ts.
//
// Each operation, and where it is recorded:
// - library: one call of a guarded tool, decided, redacted and delivered, in the agent's process. The connection to the
//   control plane is cut, so that the delivery of its entry is not part of it.
// - hook endpoint: `POST /govern/tool-use` and `POST /govern/tool-output` of one call, in the sidecar process, which is
//   also cut off.
// - policy change: one PUT of the workspace policy, until the sidecar has applied and acknowledged it, in control plane
//   and sidecar.
// - entry: one `POST /govern/tool-use`: all code that runs for it in the control plane, and of the sidecar the files of
//   functions that a call at the hook endpoint does not run while the connection is cut: reading from the spool, sending,
//   the acknowledgement, trimming.
// - run: one `POST /api/v1/agents/{id}/run` with two turns of a model and one call of a tool, in the control plane, the
//   entries of that call included.
import { pathToFileURL } from 'node:url';
import type { Cleanup } from '../../support/checkout/cleanup.ts';
import { productFiles, type Tree } from '../../support/checkout/tree.ts';
import type { Recording } from './coverage.ts';
import { type Operation, recordOperation } from './operations.ts';
import { nextMessage, type Program } from './programs.ts';
import { createSourceOf } from './sources.ts';
import { agentName, type Surroundings, startSurroundings, toolName } from './surroundings.ts';

export type WayName = 'library' | 'hookDoor' | 'policyChange' | 'entry' | 'run';

export type Way =
  | {
      readonly measured: true;
      /** All files, sorted. */
      readonly files: readonly string[];
      readonly byProgram: Readonly<Record<string, readonly string[]>>;
    }
  | { readonly measured: false; readonly reason: string };

export type Ways = Readonly<Record<WayName, Way>>;

export async function measureWays(tree: Tree, cleanup: Cleanup): Promise<Ways> {
  let around: Surroundings;
  try {
    around = await startSurroundings(tree, cleanup);
  } catch (error) {
    const failed = notMeasured(error);
    return { library: failed, hookDoor: failed, policyChange: failed, entry: failed, run: failed };
  }
  const { controlPlane, sidecar, agent, relay } = around;
  const rootUrl = `${pathToFileURL(tree.root).href}/`;
  const record = (programs: readonly Program[], operation: Operation) => settle(recordOperation(programs, rootUrl, operation));
  const policyChange = await record([controlPlane, sidecar], (at) => changePolicy(around, at));
  const connected = await record([controlPlane, sidecar], () => askHooks(around, false));
  const run = await settle(around.prepareRuns().then((id) => recordOperation([controlPlane], rootUrl, () => runAgent(around, id))));
  relay.cut();
  const [library, hookDoor] = await Promise.all([record([agent], () => callTool(agent)), record([sidecar], () => askHooks(around, true))]);

  const wayOf = createWayOf(tree);
  return {
    library: wayOf(library, [agent]),
    hookDoor: wayOf(hookDoor, [sidecar]),
    policyChange: wayOf(policyChange, [controlPlane, sidecar]),
    entry: wayOf(withoutCall(connected, hookDoor), [controlPlane, sidecar]),
    run: wayOf(run, [controlPlane]),
  };
}

type RecordingResult = { readonly recordings: readonly Recording[] } | { readonly measured: false; readonly reason: string };

/** One operation that cannot be recorded does not affect the others. */
async function settle(recorded: Promise<readonly Recording[]>): Promise<RecordingResult> {
  try {
    return { recordings: await recorded };
  } catch (error) {
    return notMeasured(error);
  }
}

const notMeasured = (error: unknown) => ({ measured: false, reason: error instanceof Error ? error.message : String(error) }) as const;

/** The functions that the sidecar runs while it is cut off belong to the call, not to its entry. */
function withoutCall(connected: RecordingResult, cutOff: RecordingResult): RecordingResult {
  if (!('recordings' in connected)) return connected;
  if (!('recordings' in cutOff)) return cutOff;
  const [atControlPlane = new Map(), atSidecar = new Map()] = connected.recordings;
  const [call = new Map()] = cutOff.recordings;
  return { recordings: [atControlPlane, new Map([...atSidecar].filter(([key]) => !call.has(key)))] };
}

function createWayOf(tree: Tree): (settled: RecordingResult, programs: readonly Program[]) => Way {
  const sourceOf = createSourceOf(tree.root);
  const product = new Set(productFiles(tree));
  const filesOf = (recording: Recording): readonly string[] =>
    [...new Set([...recording.values()].map(({ script, start }) => sourceOf(script, start)))]
      .filter((path) => product.has(path))
      .toSorted();
  return (settled, programs) => {
    if (!('recordings' in settled)) return settled;
    const byProgram = Object.fromEntries(settled.recordings.map((recording, at) => [programs[at]?.name ?? '', filesOf(recording)]));
    const files = [...new Set(Object.values(byProgram).flat())].toSorted();
    if (files.length === 0)
      return { measured: false, reason: 'no function of the sources ran: is what was built newer than this tool knows?' };
    return { measured: true, files, byProgram };
  };
}

/** The same input for both, with an address that the policy redacts. */
const toolInput = { path: '/etc/motd', author: 'bob@corp.io' };

/** Each policy differs from the previous one. */
const changePolicy = ({ askControlPlane }: Surroundings, at: number) =>
  askControlPlane('PUT', '/default/admin/workspacePolicy', {
    tools: { 'files.measured': { api: { permission: at % 2 === 0 ? 'deny' : 'allow' } } },
  });

async function askHooks({ askSidecar }: Surroundings, withOutput: boolean): Promise<void> {
  const call = {
    tool_name: toolName,
    tool_input: toolInput,
    session_id: 'measure',
    agent_name: agentName,
    agent_tier: 'api',
    accepts: ['modified_input'],
  };
  const answer = await askSidecar('POST', '/govern/tool-use', call);
  if (answer['decision'] === 'deny') throw new Error(`the sidecar denied the call: ${JSON.stringify(answer)}`);
  if (withOutput)
    await askSidecar('POST', '/govern/tool-output', { ...call, tool_output: { text: 'content of /etc/motd, by bob@corp.io' } });
}

async function callTool(agent: Program): Promise<void> {
  agent.child.send(toolInput);
  const answer = await nextMessage(agent.child);
  if (JSON.stringify(answer) !== '{"ok":true}') throw new Error(`the guarded call failed: ${JSON.stringify(answer)}\n${agent.log()}`);
}

async function runAgent({ askControlPlane }: Surroundings, id: string): Promise<void> {
  const { stopReason, ...rest } = await askControlPlane('POST', `/api/v1/agents/${id}/run`, {
    input: 'call every.get-sum {"a": 2, "b": 3}',
  });
  if (stopReason !== 'goal_complete') throw new Error(`the run ended with ${JSON.stringify({ stopReason, ...rest }).slice(0, 300)}`);
}
