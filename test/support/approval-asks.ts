// Questions about calls, as an engine sends them.
import { type ApprovalAsk, askDefaults, askDigest, type AskingRule, type CompiledAsk, digestText } from '@tollgate/proto/contract';

export const terms: CompiledAsk = { approvers: ['role:admin'], ...askDefaults };

export const askingRule = (path: string, changed: Partial<CompiledAsk> = {}, document = 'workspace'): AskingRule => {
  const all = { ...terms, ...changed };
  return { document, path, digest: askDigest(document, path, all), terms: all };
};

/** A question about a call of `pay` with this input. */
export const askFor = (
  input: object = { amount: 1 },
  call: Partial<ApprovalAsk['call']> = {},
  { mayCreate = true }: Pick<Partial<ApprovalAsk>, 'mayCreate'> = {},
): ApprovalAsk => ({
  call: {
    keyId: 'k1',
    originSub: 'u1',
    sessionId: 's1',
    agents: ['bot'],
    agentType: 'hook:bot',
    tier: 'interactive',
    tool: 'pay',
    inputSha256: digestText(JSON.stringify(input)),
    rules: [askingRule('tools.pay.*')],
    ...call,
  },
  shownInput: JSON.stringify(input),
  findings: [],
  hidden: [],
  claimedClient: 'hook',
  revision: { epoch: 'e1', number: 1 },
  mayCreate,
  roundId: '',
});
