// A result on its way back through agentgateway: of a permitted call, recorded and redacted; of a list, only the tools that
// its caller may see. A result of which nobody knows whose it is does not go back.
import type { McpResponse__Output, McpResponseResult, Struct__Output } from '@tollgate/proto/mesh';
import type { LRUCache } from 'lru-cache';
import { deliver } from '../../govern/deliver.ts';
import type { GovernedRun } from '../../govern/run.ts';
import { offers } from '../../govern/offers.ts';
import { recordedInTurn } from '../../govern/recorded.ts';
import { type AwaitedCall, denialOf } from '../../govern/verdict.ts';
import { itemsAt, memberAt, withMember } from '../mcp/wire/json-text.ts';
import { isFields } from '../mcp/wire/message.ts';
import { parseStrict, type StrictJson } from '../strict-json.ts';
import { type MeshDeps, malformed } from './asking.ts';
import { metadataText } from './checked-request.ts';
import { denied, mutated, refused } from './mcp-answer.ts';
import { mcpAsk } from './mcp-ask.ts';

/** A request that has gone on. */
interface Waiting {
  readonly run: GovernedRun;
  /** Null: a list, of which only some may be seen. */
  readonly permit: AwaitedCall | null;
}

/** By the id that it left. */
export type Pending = LRUCache<string, Waiting>;

export async function checkResult(deps: MeshDeps, pending: Pending, response: McpResponse__Output): Promise<McpResponseResult> {
  const { method, metadataContext, mcpResponse, serviceNames } = response;
  const ask = mcpAsk({ kind: 'request', id: 0, method, params: { name: '' }, hasParams: true }, '');
  if (ask.kind === 'unknown') return refused(malformed(ask.problem).refusal);
  if (ask.kind === 'pass') return { pass: {} };
  const waiting = takeWaiting(pending, metadataContext);
  if (waiting === null || (waiting.permit === null) !== (ask.kind === 'tools')) return refused(malformed(unknownCall).refusal);
  const text = mcpResponse.toString('utf8');
  const read = parseResult(mcpResponse);
  const result = 'value' in read && isFields(read.value) ? read.value : null;
  if (result === null) return refused(malformed(`the result ${'problem' in read ? read.problem : 'is no object'}`).refusal);
  if (waiting.permit === null) return shownTools(deps, waiting.run, { result, text, serviceNames });
  const { run, permit } = waiting;
  const { sidecar } = deps;
  const durationMs = sidecar.govern.clock.now() - permit.decidedAt;
  const outcome = { output: result, json: text, isError: result['isError'] === true, durationMs };
  const { action, decision, json, output } = await recordedInTurn(sidecar, deliver(sidecar.govern, run, permit, outcome));
  if (action === 'pass') return { pass: {} };
  if (decision !== null) return denied(denialOf(permit.tool, permit.requestId, decision, []));
  return mutated(json ?? JSON.stringify(output));
}

const unknownCall =
  'no call waits for this result: the gateway must ask about its request too, and hand on tollgate_call, which is mcpGuardrails.tollgate_call, as metadata';

function takeWaiting(pending: Pending, metadata: Struct__Output | null): Waiting | null {
  const id = metadataText(metadata, 'tollgate_call');
  const waiting = id === null ? undefined : pending.get(id);
  if (id !== null) pending.delete(id);
  return waiting ?? null;
}

interface List {
  readonly result: Readonly<Record<string, unknown>>;
  /** As it was written. */
  readonly text: string;
  readonly serviceNames: readonly string[];
}

/** Gathered from several servers, tools carry the server's name in front. Always written anew: only what was read here is. */
function shownTools({ sidecar }: MeshDeps, run: GovernedRun, { result, text, serviceNames }: List): McpResponseResult {
  const { tools } = result;
  const strange = Object.keys(result).find((key) => key !== 'tools' && key.toLowerCase() === 'tools');
  if (!Array.isArray(tools) || strange !== undefined) return refused(malformed('the result is no list of tools').refusal);
  const known: readonly unknown[] = tools;
  const isShown = (tool: unknown): boolean => {
    const name = isFields(tool) ? tool['name'] : undefined;
    const policyName = typeof name === 'string' ? policyNameOf(name, serviceNames) : null;
    return policyName !== null && offers(sidecar.govern, run, policyName);
  };
  const list = memberAt(text, ['tools']);
  if (list === null) throw new RangeError('a list that was read is not there');
  const shown = itemsAt(text, list.start).flatMap(({ start, end }, at) => (isShown(known[at]) ? [text.slice(start, end)] : []));
  return mutated(withMember(text, ['tools'], `[${shown.join(',')}]`));
}

function policyNameOf(name: string, services: readonly string[]): string | null {
  if (services.length === 1) return `${services[0] ?? ''}.${name}`;
  const service = services.filter((one) => name.startsWith(`${one}_`)).toSorted((a, b) => b.length - a.length)[0];
  return service === undefined ? null : `${service}.${name.slice(service.length + 1)}`;
}

// As at our own door: what is written stays, so numbers may be beyond what we can hold.
const limits = { depth: 256, nodes: 2_000_000, exactNumbers: false };

const parseResult = (bytes: Uint8Array): StrictJson => parseStrict(bytes, limits);
