// Asks a person about a call, or finds the answer that there is already. One transaction.
import type pg from 'pg';
import { type ApprovalAsk, type ApprovalRefusal, type AskingRule, type AskResult, roles } from '@tollgate/proto/contract';
import { makeId } from '../../access/rules/key.ts';
import { inTransaction } from '../../database/transaction.ts';
import { type Approval, statusOf } from '../rules/approval.ts';
import { askProblem, keptBytes } from '../rules/ask-form.ts';
import { fatigueProblem } from '../rules/fatigue.ts';
import { combineTerms } from '../rules/terms.ts';
import { approversOf, askersOf } from '../rules/who-may-answer.ts';
import { countMembers } from '../store/answers.ts';
import {
  countForFatigue,
  findDenial,
  findQuestion,
  findSessionDenial,
  insertApproval,
  lockOpen,
  lockSubject,
  readTime,
  recordAsked,
} from '../store/approvals.ts';
import { type Asker, mayAskFor } from './asker.ts';
import { type ApprovalDeps, type ApprovalMetrics, askingSideOf, settleDue, standingProblem } from './parts.ts';
import type { ApprovalKeys } from './secrets.ts';

/** When to ask again if too much is waiting. */
const fullRetryMs = 60_000;

const refused = (code: ApprovalRefusal | null, words: string, retryAfterMs: number | null = null): AskResult => ({
  kind: 'refused',
  code,
  words,
  retryAfterMs,
});

const met = async (client: pg.PoolClient, approval: Approval, isNew = false): Promise<AskResult> => ({
  kind: 'approval',
  approval: statusOf(approval, await readTime(client)),
  isNew,
});

/** Returns the approval of the call, or why there is none. Throws only if the database does not answer. */
export async function askApproval(deps: ApprovalDeps, asker: Asker, ask: ApprovalAsk): Promise<AskResult> {
  const problem = problemOf(asker, ask);
  const keys = problem === null ? await deps.approvals.keys() : null;
  const answered =
    keys === null ? malformed(problem ?? '') : await inTransaction(deps.pool, (client) => answer({ deps, client, asker, ask, keys }));
  countAsk(deps.approvals.metrics, answered);
  return answered.result;
}

/** As `askApproval`, in a transaction of the caller. The caller counts the answer after the commit. */
export async function askWithin(asking: Asking): Promise<AskAnswer> {
  const problem = problemOf(asking.asker, asking.ask);
  return problem === null ? answer(asking) : malformed(problem);
}

/** Counts an answer that was committed. */
export function countAsk(metrics: ApprovalMetrics, { result, hasExpired }: AskAnswer): void {
  if (hasExpired) metrics.decided('expired', null);
  metrics.asked(result.kind === 'refused' ? 'refused' : result.isNew ? 'new' : 'met');
}

const problemOf = (asker: Asker, ask: ApprovalAsk): string | null => askProblem(ask) ?? mayAskFor(asker, ask.call);
const malformed = (problem: string): AskAnswer => ({ result: refused('call_malformed', problem), hasExpired: false });

interface AskAnswer {
  readonly result: AskResult;
  /** Whether an earlier approval of the call has expired now. */
  readonly hasExpired: boolean;
}

interface Asking {
  readonly deps: Pick<ApprovalDeps, 'random' | 'approvals'>;
  readonly client: pg.PoolClient;
  readonly asker: Asker;
  readonly ask: ApprovalAsk;
  readonly keys: ApprovalKeys;
}

async function answer(asking: Asking): Promise<AskAnswer> {
  const { client, asker, ask, keys } = asking;
  const { workspaceId } = asker;
  const { call } = ask;
  const callHmac = keys.callHmac(call);
  await lockSubject(client, workspaceId, call.originSub);
  const open = await lockOpen(client, workspaceId, callHmac);
  let hasExpired = false;
  if (open !== null) {
    const settled = await settleDue(client, open);
    if (!settled.hasExpired) return { result: await met(client, settled.approval), hasExpired };
    ({ hasExpired } = settled);
  }
  const digests = digestsOf(call.rules);
  const denial = (await findDenial(client, workspaceId, callHmac)) ?? (await findSessionDenial(client, workspaceId, call, digests));
  if (denial !== null) return { result: await met(client, denial), hasExpired };
  if (!ask.mayCreate) return { result: refused(null, 'there is no approval of this call'), hasExpired };
  return { result: (await refusalOf(asking)) ?? (await create(asking, callHmac)), hasExpired };
}

const digestsOf = (rules: readonly AskingRule[]): readonly string[] => rules.map(({ digest }) => digest).toSorted();

/** Returns why no one is asked; null: someone is. */
async function refusalOf({ deps, client, asker, ask }: Asking): Promise<AskResult | null> {
  const { workspaceId } = asker;
  const { call } = ask;
  const problem = await standingProblem(client, asker, call);
  if (problem !== null) return refused('call_malformed', problem);
  const tired = fatigueProblem(await countForFatigue(client, workspaceId, call), deps.approvals.fatigue, keptBytes(ask));
  if (tired !== null) return refused('approvals_full', tired, fullRetryMs);
  const unanswerable = await unanswerableRule(client, workspaceId, ask);
  if (unanswerable === null) return null;
  const { document, path, terms } = unanswerable;
  return refused(
    'approval_unanswerable',
    `${document} ${path} asks for ${terms.need} of ${terms.approvers.join(', ')}, and there are not so many members who may answer`,
  );
}

/** Returns a rule that too few members may answer; null: there is none. */
async function unanswerableRule(client: pg.PoolClient, workspaceId: number, { call }: ApprovalAsk): Promise<AskingRule | null> {
  const { self, independent } = combineTerms(call.rules);
  const side = await askingSideOf(client, { workspaceId, call, rules: call.rules });
  const excluded = [...(self ? [] : askersOf(side)), ...(independent ? side.keyPersons : [])];
  for (const rule of call.rules) {
    const { approvers, need } = rule.terms;
    const named = approvers.flatMap((one) => (one.startsWith('role:') ? one.slice('role:'.length) : []));
    const lowest = Math.max(-1, ...named.map((role) => roles.findIndex((one) => one === role)));
    const uids = approvers.flatMap((one) =>
      one === 'subject' ? call.originSub : one.startsWith('user:') ? one.slice('user:'.length) : [],
    );
    const eligible = await countMembers(client, workspaceId, { roles: roles.slice(0, lowest + 1), uids, excluded, enough: need });
    if (eligible < need) return rule;
  }
  return null;
}

async function create({ deps, client, asker, ask, keys }: Asking, callHmac: Uint8Array): Promise<AskResult> {
  const { workspaceId } = asker;
  const { inputSha256: _, rules, ...call } = ask.call;
  const digests = digestsOf(rules);
  const id = makeId(deps.random);
  const question = await findQuestion(client, workspaceId, call, { digests, roundId: ask.roundId });
  const { pendingSeconds, validSeconds, uses, need } = combineTerms(rules);
  const values = ask.hidden.map(({ value }) => value);
  const approval = await insertApproval(client, {
    workspaceId,
    id,
    questionId: question ?? id,
    call,
    callHmac,
    rules,
    digests,
    approvers: approversOf(rules),
    pendingSeconds,
    validSeconds,
    uses,
    need,
    revision: ask.revision,
    claimedClient: ask.claimedClient,
    roundId: ask.roundId,
    shownInput: ask.shownInput,
    findings: ask.findings.map(({ kind, count }) => ({ kind, count })),
    hidden: ask.hidden.map(({ path, kind, length }) => ({ path, kind, length })),
    sealed: values.length === 0 ? null : keys.seal({ workspaceId, id }, JSON.stringify(values)),
    bytes: keptBytes(ask),
  });
  await recordAsked(client, approval, { sub: call.originSub, keyId: call.keyId });
  return met(client, approval, true);
}
