// The closed lists of words that are sent over the wire, each from the table that the programs use.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  codes,
  hosts,
  layers,
  nackCodes,
  overBudgetKind,
  parts,
  reasons,
  redactionKinds,
  roles,
  scopes,
  shadowMarks,
  snapshotSchemaVersion,
  tiers,
} from '@tollgate/proto/contract';
import { runStatuses } from '../../../control-plane/runs/rules/run.ts';
import { changes } from '../../../control-plane/policies/evaluate/simulate.ts';
import { type RunEvent, stopReasons } from '../../../control-plane/runs/events.ts';
import { rpcErrors } from '../../../sidecar/upstream/wire/rpc.ts';
import { textOf } from './lines.ts';

/** A type without a table: the compiler reports a kind that is missing or invalid. */
const runEvents: Readonly<Record<RunEvent['kind'], true>> = {
  text: true,
  tool_calls: true,
  governance: true,
  tool_result: true,
  approval_required: true,
  approval_decided: true,
  error: true,
  done: true,
};

export const codesText = (): string =>
  textOf([
    {
      heading: 'reasons of decisions: may the same call pass later (retry), or not before something is changed (terminal)',
      lines: Object.entries(reasons).map(([code, kind]) => `${code} ${kind ?? 'allow'}`),
    },
    { heading: 'marks of what layers in audit mode would have decided', lines: shadowMarks },
    {
      heading: 'error codes',
      lines: Object.entries(codes).map(
        ([code, { http, grpc, retryable }]) => `${code} HTTP ${http} gRPC ${grpc} ${retryable ? 'retryable' : 'not retryable'}`,
      ),
    },
    { heading: 'error codes of JSON-RPC, of the MCP proxy', lines: Object.entries(rpcErrors).map(([name, code]) => `${name} ${code}`) },
    { heading: `why a sidecar refuses a snapshot (schema version ${snapshotSchemaVersion})`, lines: nackCodes },
    { heading: 'scopes of keys', lines: scopes },
    { heading: 'roles', lines: roles },
    { heading: 'tiers', lines: tiers },
    { heading: 'layers of policy', lines: layers },
    { heading: 'parts of the user layer', lines: parts },
    { heading: 'kinds of redaction', lines: [...redactionKinds, overBudgetKind] },
    { heading: 'coding agents whose hooks are answered', lines: hosts },
    { heading: 'states of runs', lines: runStatuses },
    { heading: 'stop reasons of runs', lines: stopReasons },
    { heading: 'events of the stream of a run', lines: Object.keys(runEvents) },
    { heading: 'changes that simulate names', lines: changes },
    { heading: 'actions of admin events', lines: eventActions() },
  ]);

const controlPlane = fileURLToPath(new URL('../../../control-plane', import.meta.url));

/** An action is a literal in the files of operations that leave an event; no table lists the actions. */
function eventActions(): readonly string[] {
  return readdirSync(controlPlane, { recursive: true, encoding: 'utf8' })
    .filter((path) => /^(?!dist|node_modules)[\w-]+\/operations\/.*\.ts$/.test(path))
    .map((path) => readFileSync(join(controlPlane, path), 'utf8'))
    .filter((source) => /^import .*\b(?:writeOperation|insertEvents)\b/m.test(source))
    .flatMap((source) => [...source.matchAll(/'([a-z]+(?:-[a-z]+)*\.[a-z]+)'/g)].map(([, action = '']) => action));
}
