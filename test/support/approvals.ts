// Asks of approvals for tests: calls, rules and messages, in the forms of the contract and of the wire.
import { hash } from 'node:crypto';
import {
  canonicalJson,
  type ApprovalAsk,
  type AskedCall,
  askDefaults,
  askDigest,
  type AskingRule,
  type CompiledAsk,
} from '@tollgate/proto/contract';
import type { ApproveRequest } from '@tollgate/proto';

export const termsOf = (more: Partial<CompiledAsk> = {}): CompiledAsk => ({ approvers: ['role:admin'], ...askDefaults, ...more });

export function ruleOf(more: Partial<CompiledAsk> = {}, document = 'workspace', path = 'tools["pay"].api'): AskingRule {
  const terms = termsOf(more);
  return { document, path, digest: askDigest(document, path, terms), terms };
}

export const digestOf = (input: unknown): string => hash('sha256', canonicalJson(input));

export const callOf = (more: Partial<AskedCall> & Pick<AskedCall, 'keyId' | 'originSub'>): AskedCall => ({
  sessionId: 'session-1',
  agents: ['agent'],
  agentType: 'client::api::agent',
  tier: 'api',
  tool: 'pay',
  inputSha256: digestOf({ amount: 1 }),
  rules: [ruleOf()],
  ...more,
});

export const askOf = (call: AskedCall, more: Partial<Omit<ApprovalAsk, 'call'>> = {}): ApprovalAsk => ({
  call,
  shownInput: '{"amount":1}',
  findings: [],
  hidden: [],
  claimedClient: 'client 1.0',
  revision: { epoch: 'epoch', number: 1 },
  mayCreate: true,
  roundId: '',
  ...more,
});

const callMessage = ({ inputSha256, rules, agents, ...call }: AskedCall) => ({
  ...call,
  agents: [...agents],
  inputSha256: Buffer.from(inputSha256, 'hex'),
  rules: rules.map(({ terms, ...rule }) => ({ ...rule, terms: JSON.stringify(terms) })),
});

type Ask = NonNullable<ApproveRequest['ask']>;

export const hello: ApproveRequest = { hello: { sidecarId: 'by-hand', capabilities: [] } };

export const askMessage = (number: number, { call, findings, hidden, ...ask }: ApprovalAsk, more: Partial<Ask> = {}): ApproveRequest => ({
  ask: { number, call: callMessage(call), findings: [...findings], hidden: [...hidden], ...ask, ...more },
});

export const claimMessage = (number: number, approvalId: string, requestId: string, call: AskedCall): ApproveRequest => ({
  claim: { number, approvalId, requestId, call: callMessage(call) },
});
