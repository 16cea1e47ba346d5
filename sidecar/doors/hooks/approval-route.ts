// `GET /govern/approvals/{id}`: tells the key that asked for an approval what has become of it. It changes nothing: the
// same call asked again meets the answer.
import type { ApprovalStatus } from '@tollgate/proto/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import { retryHeader } from '../denial-body.ts';
import { shownBy } from '../entrance/entrance.ts';
import { recognised } from '../entrance/share-fairly.ts';
import type { Entry, HookHost } from './host.ts';

interface Params {
  readonly workspace?: string;
  readonly id: string;
}

const idLengthMax = 100;
const retryMs = 2_000;

export interface ApprovalRouteOptions {
  /** Returns the description of the route for an API document. */
  readonly approvalSchemaOf?: (inWorkspace: boolean) => FastifySchema;
}

export function registerApprovalRoute(app: FastifyInstance, host: HookHost, { approvalSchemaOf }: ApprovalRouteOptions): void {
  for (const inWorkspace of [false, true]) {
    const described = approvalSchemaOf === undefined ? {} : { schema: approvalSchemaOf(inWorkspace) };
    app.route<{ Params: Params }>({
      method: 'GET',
      url: `${inWorkspace ? '/:workspace' : ''}/govern/approvals/:id`,
      ...described,
      handler: async (request, reply) => {
        const entered = await host.enter(shownBy(request));
        return answer(request, reply, entered, request.params.id);
      },
    });
  }
}

async function answer(request: FastifyRequest, reply: FastifyReply, entered: Entry, id: string): Promise<FastifyReply> {
  if ('status' in entered) {
    const { status, error, retryAfterMs } = entered;
    return reply.headers(retryHeader(retryAfterMs)).code(status).send({ error });
  }
  const { governing, identity } = entered;
  recognised(request, identity.keyId);
  const { approvals } = governing.govern;
  const found = id.length > idLengthMax || approvals === undefined ? null : await approvals.read(id, identity.keyId);
  if (found === 'unavailable')
    return reply.headers(retryHeader(retryMs)).code(503).send({ error: 'the control plane did not answer; ask again later' });
  if (found === null) return reply.code(404).send({ error: 'this key has asked for no such approval' });
  return reply.code(200).send(bodyOf(found));
}

const bodyOf = ({ approvalId, state, at, note, remainingMs }: ApprovalStatus): object => ({
  approval_id: approvalId,
  state,
  ...(at === null ? {} : { answered_at: at }),
  ...(note === null ? {} : { note }),
  ...(state === 'pending' || state === 'approved' ? { remainingMs } : {}),
});
