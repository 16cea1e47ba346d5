// A control plane over REST with the ledger of approvals, reduced to what tests of approvals use: several ledgers on one
// database stand for several control planes.
import type { ApprovalAsk, AskedCall, ApprovalStatus, OnDecided } from '@tollgate/proto/contract';
import { hashToken, makeToken, csrfOf } from '../../../control-plane/access/rules/session.ts';
import { createApprovalLedger, type LedgerLink } from '../../../control-plane/approvals/operations/ledger.ts';
import type { Asker } from '../../../control-plane/approvals/operations/asker.ts';
import { askOf, callOf } from '../../support/approvals.ts';
import { createRest, field } from '../rest.ts';

export async function createApprovalPlane(overrides: Parameters<typeof createRest>[0] = {}) {
  const rest = await createRest(overrides);
  rest.clock.now = new Date();
  const { rows } = await rest.pool.query<{ id: string; slug: string }>('select id, slug from workspace');
  const workspaceOf = (slug: string): number => Number(rows.find((row) => row.slug === slug)?.id);
  const workspaceId = workspaceOf('acme');
  const issued = await rest.ask('POST', '/acme/admin/keys', { body: { name: 'sidecar', scopes: ['sidecar.sync', 'govern'] } });
  const keyId = field(issued, 'id');
  const log = { warn: () => undefined };
  let sessions = 0;
  /** A link of another control plane. */
  const openLink = (asker: Partial<Asker> = {}, onDecided: OnDecided = () => undefined): LedgerLink =>
    createApprovalLedger({ ...rest.deps, watch: rest.approvalWatch, log }).open(
      { workspaceId, onlyKey: null, onlySub: null, isLocal: false, owner: keyId, ...asker },
      onDecided,
    );
  const link = openLink();
  const plane = {
    ...rest,
    workspaceId,
    workspaceOf,
    keyId,
    link,
    openLink,
    /** A call of a session of its own. */
    call: (more: Partial<AskedCall> = {}): AskedCall => callOf({ keyId, originSub: 'ann', sessionId: `s-${(sessions += 1)}`, ...more }),
    /** Asks, and returns the new approval. */
    pend: async (call: AskedCall, more: Partial<ApprovalAsk> = {}, by = link): Promise<ApprovalStatus> => {
      const result = await by.ask(askOf(call, more));
      if (result.kind === 'refused') throw new Error(`refused: ${result.code} ${result.words}`);
      return result.approval;
    },
    press: (id: string, verb: string, key: string, body: object = {}) =>
      plane.ask('POST', `/acme/admin/approvals/${id}/${verb}`, { key, body }),
    show: async (id: string, key?: string) => {
      const { body } = await plane.ask('GET', `/acme/admin/approvals/${id}`, key === undefined ? {} : { key });
      return body as Readonly<Record<string, unknown>>;
    },
    /** The headers of a session that the member opened at the issuer. */
    signIn: async (uid: string): Promise<Readonly<Record<string, string>>> => {
      const token = makeToken(rest.deps.random);
      await rest.pool.query(
        `insert into session (workspace_id, id, hash, uid, expires_at, created_at) values ($1, $2, $3, $4, now() + interval '1 hour', now())`,
        [workspaceId, `session${(sessions += 1)}`, hashToken(token), uid],
      );
      return { cookie: `tollgate_session=${token}`, 'x-csrf-token': csrfOf(token) };
    },
    /** As if so many seconds had passed for this approval. */
    age: (id: string, seconds: number) =>
      rest.pool.query(
        `update approval set created_at = created_at - $2 * interval '1 second', expires_at = expires_at - $2 * interval '1 second',
           due_at = due_at - $2 * interval '1 second', usable_until = usable_until - $2 * interval '1 second',
           answered_at = answered_at - $2 * interval '1 second' where id = $1`,
        [id, seconds],
      ),
  };
  return plane;
}

export type ApprovalPlane = Awaited<ReturnType<typeof createApprovalPlane>>;
