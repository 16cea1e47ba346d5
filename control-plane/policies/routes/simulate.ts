// Shows how a draft of the policy would have decided the recorded calls.
import { bounds, layers, parts, tiers } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import { requireAccess } from '../../access/rules/access.ts';
import { simulationLimits } from '../rules/simulation.ts';
import { refusalOf } from '../../base/errors.ts';
import { changes } from '../evaluate/simulate.ts';
import { loggable } from '../../base/loggable.ts';
import { createSimulatePolicies, type SimulationLine } from '../operations/simulate-policies.ts';
import type { StreamDeps } from '../../http/deps.ts';
import { addStream } from '../../http/stream-route.ts';
import { anyObject, dateTime, flag, integer, inWorkspace, listOf, object, orNull, policySet, text, word } from '../../http/shapes.ts';

const shownBody = object(
  {},
  {
    ...policySet(orNull),
    since: { ...dateTime, description: 'default: 24 hours before now' },
    until: { ...dateTime, description: 'default: now' },
    limit: { ...integer, description: `entries; default ${simulationLimits.standard}, clamped to 1–${simulationLimits.max}` },
  },
);

const example = object({ id: text, ts: dateTime, sub: text, recorded: text, before: text, after: text });
const group = object(
  {
    change: word(changes),
    agent: text,
    tool: text,
    tier: word(tiers),
    layer: word([...layers, 'default']),
    document: text,
    path: text,
    count: integer,
    examples: listOf(example),
  },
  { sub: text, part: word(parts) },
);
const result = object({
  since: dateTime,
  until: dateTime,
  entries: integer,
  truncated: flag,
  notPolicy: integer,
  approximate: integer,
  uncertain: integer,
  asked: integer,
  drift: integer,
  newly: object(Object.fromEntries(changes.map((change) => [change, integer]))),
  groups: listOf(group),
  groupsCut: flag,
});

/** A line of the answer: exactly one of the three forms. */
export const simulationLine = {
  oneOf: [object({ progress: object({ entries: integer, until: dateTime }) }), object({ result }), object({ error: text })],
};

export function addSimulateRoute(app: FastifyInstance, deps: StreamDeps): void {
  const lineOf = (line: SimulationLine): object => {
    if (!('failure' in line)) return line;
    const { code, publicMessage, cause } = refusalOf(line.failure);
    deps.log[code === 'internal' ? 'error' : 'warn'](loggable(cause ?? line.failure), 'a simulation failed');
    return { error: publicMessage };
  };
  addStream(app, deps, {
    method: 'POST',
    url: '/:workspace/admin/simulate',
    id: 'simulatePolicies',
    tag: 'Policies',
    summary: 'Decides recorded calls again with a draft, and lists what would be denied, asked for, allowed, throttled or redacted',
    description: `The draft has the sections of \`policies/apply\`: a section that is present is complete, an absent one stays as stored. It also needs the
scope \`admin.audit.read\`. Each line is \`{progress: {entries, until}}\`, at last one \`{result}\` or \`{error}\`. Differences come from
the draft alone: recorded calls are decided by the documents of today and by the draft, limits counted over the recorded times in both, one
window before \`since\` included. \`notPolicy\`: refused before any document was read, so the draft changes nothing. \`approximate\`: the entry does not name
every hop of its chain, or not who called. \`uncertain\`: a condition of a case read what the entry does not show, because it was redacted, cut or
not recorded (also the scopes of a delegated task); the strictest of what its rule may say is taken. Inputs are read only if the documents of today or the
draft have cases; scopes of agents are those of now. \`asked\`: calls that the draft asks a person about; one that was made is
counted in limits as if it were approved. \`drift\`: recorded with another result than today's documents give, uncertain ones left out. An entry of a group names the
rule of the draft, in \`allowed\` the rule of today. \`truncated\`: there were more entries than \`limit\`, or than 30 s were enough for. At most two of a workspace run at once.`,
    answers: { mediaType: 'application/x-ndjson', text: 'JSON objects, one a line: {progress}, …, then {result} or {error}' },
    operation: createSimulatePolicies(),
    bodyBytes: bounds.policySetBytes,
    admit: (actor) => requireAccess(actor, 'audit.read'),
    schema: { params: inWorkspace, body: anyObject },
    shownBody,
    input: ({ body }) => body,
    frame: (line) => `${JSON.stringify(lineOf(line))}\n`,
  });
}
