// Lists the sidecars that follow the policy of a workspace, with their state.
import type { FastifyInstance } from 'fastify';
import { type ListedSidecar, parseSidecarCursor, sidecarBounds } from './rules/sidecar.ts';
import { listSidecars } from './operations/list-sidecars.ts';
import type { AppDeps } from '../http/deps.ts';
import { limitOf, positionOf } from '../http/page-limit.ts';
import { addRoute, ok } from '../http/route.ts';
import { dateTime, flag, integer, inWorkspace, listOf, object, okAnd, orNull, pageQuery, text, word } from '../http/shapes.ts';

const seconds = { type: 'number', minimum: 0 };
const revision = object({ epoch: text, number: integer });

const sidecar = object({
  id: { ...text, description: 'as its operator named it' },
  bootId: { ...text, description: 'new at each start' },
  form: word(['process', 'library']),
  keyId: text,
  connected: flag,
  connectedSince: { ...dateTime, description: 'or the time of its last connection' },
  lastSeen: dateTime,
  controlPlane: { ...text, description: 'the control plane that it is, or was last, connected to' },
  held: { ...orNull(revision), description: 'the revision that it decides by, as it reports; null: none' },
  lag: {
    ...orNull(object({ revisions: integer, seconds })),
    description: 'number of revisions behind the newest; null if it holds none, or one from before a restore of the database',
  },
  lastNack: {
    ...orNull(object({ code: text, message: text, at: dateTime })),
    description: 'the last policy that it refused; it kept the previous one',
  },
  lacks: {
    ...listOf(text),
    description: 'capabilities that policy needs and that it lacks: rules that use them are sent to it as denials',
  },
  status: {
    ...orNull(
      object({
        version: text,
        spool: object({
          records: { ...integer, description: 'entries that are not acknowledged' },
          bytes: integer,
          ageSeconds: { ...seconds, description: 'since the oldest of them was written' },
        }),
        unrecorded: { ...integer, description: 'decisions whose entries could not be written, since its start' },
        outageDecisions: { ...integer, description: 'decisions by the outage rule, since its start' },
        refused: {
          ...object({ spools: integer, records: integer }),
          description: 'spools that the control plane does not take, with what is unacknowledged in them; its log says why',
        },
        clockAheadSeconds: {
          ...orNull({ type: 'integer' }),
          description: 'how far its clock is ahead of that of the control plane; negative: behind; null: it does not report it',
        },
      }),
    ),
    description: 'as it reports; null: it has not reported yet',
  },
});

export function addSidecarRoutes(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/sidecars',
    id: 'listSidecars',
    tag: 'Sidecars',
    summary: 'Lists sidecars: the revision of each, how far it is behind, and its state',
    description: `Connected sidecars come first, by name; then those that disconnected in the last ${sidecarBounds.leftDays} days. The list is a few seconds old. \`revision\` and \`epoch\` are the newest. \`next\` is absent on the last page; a sidecar that connects or disconnects between two pages may be on both, or on none.`,
    answers: okAnd({ epoch: text, revision: integer, sidecars: listOf(sidecar) }, { next: text }),
    operation: listSidecars,
    schema: { params: inWorkspace, querystring: pageQuery },
    input: ({ query }) => ({ limit: limitOf(query.limit ?? '200'), after: positionOf(query.cursor, parseSidecarCursor) }),
    answer: ({ newest, sidecars, ...rest }) =>
      ok({ epoch: newest.epoch, revision: newest.number, sidecars: sidecars.map(shownSidecar), ...rest }),
  });
}

const shownSidecar = ({ sidecarId, connectedAt, lastSeen, lastNack, status, ...sidecar }: ListedSidecar) => ({
  id: sidecarId,
  ...sidecar,
  connectedSince: connectedAt.toISOString(),
  lastSeen: lastSeen.toISOString(),
  lastNack: lastNack === null ? null : { ...lastNack, at: lastNack.at.toISOString() },
  status:
    status === null
      ? null
      : {
          version: status.version,
          spool: { records: status.spoolRecords, bytes: status.spoolBytes, ageSeconds: status.spoolAgeMs / 1000 },
          unrecorded: status.unrecorded,
          outageDecisions: status.outageDecisions,
          refused: { spools: status.refusedSpools, records: status.refusedRecords },
          clockAheadSeconds: status.clock?.aheadSeconds ?? null,
        },
});
