// Audit entries of one run, as the text that goes to the spool. The input's text is spliced in as it stands, so that it
// is written once, and cut where it is larger than an entry may keep.
import { type AuditEntry, bounds, type Finding } from '@tollgate/proto/contract';
import type { Caller } from '../decide/bind.ts';
import type { Decision, Shadow } from '../decide/decision.ts';

/** Fixed for a run. */
export interface RunIdentity {
  readonly sessionId: string;
  readonly client: { readonly name: string; readonly version?: string };
  /** Root to caller; one for a direct call. */
  readonly runChain: readonly string[];
  /** The chain is an authenticated caller's claim. */
  readonly chainClaimed: boolean;
}

export interface EntryFacts {
  readonly hookEvent: AuditEntry['hookEvent'];
  readonly tool: string;
  readonly decision: Decision;
  readonly requestId: string;
  /** Wall-clock ms. */
  readonly at: number;
  readonly policyAgeMs: number;
  readonly inputDigest: string;
  /** JSON text to store; null: none. */
  readonly input: string | null;
  readonly findings: readonly Finding[];
  readonly latencyUs?: number;
  readonly outcome?: NonNullable<AuditEntry['outcome']>;
}

export function entryText(caller: Caller, run: RunIdentity, facts: EntryFacts): string {
  const { decision, findings, latencyUs, outcome } = facts;
  const entry: AuditEntry = {
    hookEvent: facts.hookEvent,
    tool: facts.tool,
    decision: decision.decision,
    code: decision.code,
    decisionReason: decision.reason,
    ...callerFields(caller, run),
    requestId: facts.requestId,
    ts: new Date(facts.at).toISOString(),
    epoch: caller.index.epoch,
    revision: caller.index.revision,
    policyAgeMs: Math.round(facts.policyAgeMs),
    transform: decision.stored,
    inputDigest: facts.inputDigest,
    ...(decision.rule === null ? {} : { rule: decision.rule }),
    ...(decision.shadow === null ? {} : { shadow: shadowFields(decision.shadow) }),
    ...(decision.outage ? { outage: true as const } : {}),
    ...(findings.length === 0 ? {} : { findings }),
    ...(latencyUs === undefined ? {} : { latencyUs }),
    ...(outcome === undefined ? {} : { outcome }),
  };
  const text = JSON.stringify(entry);
  return facts.input === null ? text : `${text.slice(0, -1)},${inputFields(facts.input)}}`;
}

type CallerFields = Pick<
  AuditEntry,
  'agentName' | 'agentId' | 'agentTier' | 'agentType' | 'role' | 'sub' | 'userEmail' | 'sessionId' | 'client' | 'originSub' | 'depth' | 'chain' | 'runChain' | 'parentProfileId' | 'chainClaimed'
>;

const fieldsOf = new WeakMap<Caller, Map<string, CallerFields>>();

/** What does not change from call to call, made once for a caller and run. */
function callerFields(caller: Caller, run: RunIdentity): CallerFields {
  const bySession = fieldsOf.get(caller) ?? new Map<string, CallerFields>();
  const known = bySession.get(run.sessionId);
  if (known !== undefined) return known;
  fieldsOf.set(caller, bySession);
  if (bySession.size >= 1_000) bySession.clear();
  const fields = makeCallerFields(caller, run);
  bySession.set(run.sessionId, fields);
  return fields;
}

function makeCallerFields({ hops, subject, claim, profile }: Caller, run: RunIdentity): CallerFields {
  const last = hops.at(-1);
  const delegated = hops.length > 1;
  const parent = hops.at(-2)?.profile;
  return {
    agentName: last?.name ?? '',
    ...(profile === null ? {} : { agentId: profile.id }),
    agentTier: last?.tier ?? 'api',
    agentType: last?.agentType ?? '',
    role: subject?.role ?? '',
    sub: delegated ? `agent:${profile?.id ?? last?.name ?? ''}` : claim.identity.sub,
    userEmail: subject?.email ?? '',
    sessionId: run.sessionId,
    client: run.client,
    depth: hops.length - 1,
    ...(delegated ? { originSub: claim.identity.sub, chain: hops.map(({ name }) => name), runChain: run.runChain } : {}),
    ...(delegated && parent != null ? { parentProfileId: parent.id } : {}),
    ...(delegated && run.chainClaimed ? { chainClaimed: true as const } : {}),
  };
}

const shadowFields = ({ decision, code, reason, transform, approximate }: Shadow): NonNullable<AuditEntry['shadow']> => ({
  decision,
  code,
  reason,
  transform,
  ...(approximate ? { approximate: true as const } : {}),
});

function inputFields(input: string): string {
  const bytes = Buffer.byteLength(input);
  if (bytes <= bounds.entryInputBytes) return `"input":${input}`;
  // Whole characters only: a cut inside one would leave a replacement mark.
  const cut = new TextDecoder().decode(Buffer.from(input).subarray(0, bounds.entryInputBytes), { stream: true });
  return `"inputCut":true,"input":${JSON.stringify(cut)}`;
}
