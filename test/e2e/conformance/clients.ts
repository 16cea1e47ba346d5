// The clients that the cases run with: the hook endpoint of a sidecar and of a control plane, and the library. Each says
// in the same words what it was answered.
import type { Gate, Permit, Run } from '@tollgate/sidecar';
import { type Case, type CaseCall, type CaseCost, jsonOf, valueOf } from './cases.ts';

/** `remedies` and others: as the schema of a case has them. */
export type Answered = Readonly<Record<string, unknown>>;

/** One case with one client. */
export interface CaseClient {
  /** The sessions in which its entries are. */
  readonly sessions: readonly string[];
  call(call: CaseCall): Promise<Answered>;
  output(output: unknown, isError: boolean): Promise<Answered>;
  cost(action: 'reserve' | 'settle', cost: CaseCost): Promise<Answered>;
  body(text: string): Promise<Answered>;
}

export type OpenClient = (one: Case, session: string) => CaseClient;

const named = ({ agent = 'conformance', tier = 'api', client = 'conformance' }: Partial<CaseCall>) => ({ agent, tier, client });

/** Returns the code of a reason. What audit mode says stands before it. */
const codeOf = (reason: unknown): string =>
  [...String(reason).matchAll(/(?:^|; )([a-z]+(?:_[a-z]+)*): /g)].map(([, code = '']) => code).find((code) => !code.startsWith('would_')) ??
  '';

export const hookClient =
  (origin: string, key: string): OpenClient =>
  (_, session) => {
    const post = async (path: string, body: string): Promise<Record<string, unknown>> => {
      const response = await fetch(`${origin}/govern/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body,
      });
      if (response.status !== 200) throw new Error(`${path} was answered ${response.status} ${await response.text()}`);
      return (await response.json()) as Record<string, unknown>;
    };
    const answered = (
      { decision, reason, kind, remedies, approval_id, retryAfterMs, modified_input, cents }: Record<string, unknown>,
      input: unknown,
    ) => ({
      decision,
      reason,
      code: codeOf(reason),
      ...(decision === 'allow'
        ? { input: modified_input ?? input, cents }
        : { kind, remedies: remedies ?? [], approval: approval_id !== undefined, retry: retryAfterMs !== undefined }),
    });
    let last = '';
    const callerOf = (call: Partial<CaseCall>): string => {
      const { agent, tier, client } = named(call);
      const { chain = [], tools } = call;
      return jsonOf({
        session_id: session,
        agent_name: agent,
        agent_tier: tier,
        agent_chain: [...chain, agent],
        client: { name: client },
        ...(tools === undefined ? {} : { delegated_tools: tools }),
      }).slice(1, -1);
    };
    return {
      sessions: [session],
      call: async (call) => {
        last = `${callerOf(call)},"tool_name":${JSON.stringify(call.tool)},"tool_input":${jsonOf(call.input)}`;
        return answered(await post('tool-use', `{${last},"accepts":["modified_input"]}`), call.input);
      },
      output: async (output, isError) => {
        const { action, modified_output } = await post('tool-output', `{${last},"tool_output":${jsonOf(output)},"is_error":${isError}}`);
        if (action === 'block') return {};
        return { output: action === 'redact' ? modified_output : output };
      },
      cost: async (action, { id, cents, agent, least }) =>
        answered(
          await post('cost', `{${callerOf({ agent })},${jsonOf({ action, cost_id: id, cents, least_cents: least ?? null }).slice(1)}`),
          null,
        ),
      body: async (text) => answered(await post('tool-use', text.replaceAll('$session', session)), null),
    };
  };

export const libraryClient =
  (gate: Gate): OpenClient =>
  (_, session) => {
    const runs = new Map<string, Run>();
    const reservations = new Map<string, Parameters<Run['settleCost']>[0]>();
    const sessions: string[] = [];
    const runOf = (call: Partial<CaseCall>): Run => {
      const { agent, tier, client } = named(call);
      const { chain = [], tools } = call;
      const key = JSON.stringify([...chain, agent, tier, client, tools]);
      const known = runs.get(key);
      if (known !== undefined) return known;
      const [root, ...below] = [...chain, agent];
      const first = gate.run({ agent: root, tier, client: { name: client }, sessionId: session });
      const run = below.reduce((above, name) => above.delegate(name, tools === undefined ? {} : { tools }), first);
      runs.set(key, run);
      if (!sessions.includes(run.id)) sessions.push(run.id);
      return run;
    };
    let last: { readonly run: Run; readonly permit: Permit } | null = null;
    return {
      sessions,
      call: async (call) => {
        const run = runOf(call);
        const verdict = await run.decide({ tool: call.tool, input: valueOf(call.input) });
        if (verdict.allowed) {
          last = { run, permit: verdict };
          const { reason, code } = verdict.decision;
          return { decision: 'allow', reason, code, input: verdict.input };
        }
        const { code, reason, kind, remedies, retryAfterMs, decision } = verdict;
        return { decision: 'deny', code, reason, kind, remedies, retry: retryAfterMs !== null, approval: decision.approval !== null };
      },
      output: async (output, isError) => {
        if (last === null) throw new Error('an output belongs to a call that was permitted');
        const delivery = await last.run.report(last.permit, { output: valueOf(output), isError, durationMs: 1 });
        return delivery.action === 'block' ? {} : { output: delivery.output };
      },
      cost: async (action, { id, cents, agent, least }) => {
        const run = runOf({ agent });
        const reservation = reservations.get(id);
        if (action === 'settle' && reservation !== undefined) {
          run.settleCost(reservation, cents);
          return { decision: 'allow', code: 'allowed', cents };
        }
        const verdict = run.reserveCost(cents, least === undefined ? {} : { least });
        if (!verdict.allowed)
          return { decision: 'deny', code: verdict.code, reason: verdict.reason, kind: verdict.stopped === null ? 'retry' : 'terminal' };
        reservations.set(id, verdict);
        return { decision: 'allow', code: 'allowed', cents: verdict.cents };
      },
      body: () => Promise.reject(new Error('the library sends no request')),
    };
  };
