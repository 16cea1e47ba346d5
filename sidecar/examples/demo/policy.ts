// Defines the policy of the demo's workspace, in documents as they are sent over REST. The rules are for calls of tier
// `api`, for tools of the MCP server `everything` and for the payment.
import { type Rest, RestRefused } from './rest.ts';

export const workspace = 'demo';
const admin = `/${workspace}/admin`;

const forTool = (tool: string, rule: object): object => ({ tools: { [`everything.${tool}`]: { api: rule } } });

export interface Keys {
  /**
   * The key for the library. With it, the library receives policy, asks for decisions, and names the user for whom an
   * agent works.
   */
  readonly agents: string;
  /** The key for the sidecar process. */
  readonly sidecar: string;
  /** The key of the user Mia. */
  readonly mia: string;
  /** The key of the admin Bob. It can answer and not ask. */
  readonly bob: string;
}

/** Creates the members before the keys, because a key and later a policy refer to a member. */
export async function makeMembersAndKeys(owner: Rest): Promise<Keys> {
  await owner('POST', `${admin}/members`, { uid: 'mia', email: 'mia@example.com', role: 'member' });
  await owner('POST', `${admin}/members`, { uid: 'bob', email: 'bob@example.com', role: 'admin' });
  const key = async (name: string, scopes: readonly string[], rest: object = {}): Promise<string> =>
    (await owner<{ readonly key: string }>('POST', `${admin}/keys`, { name, scopes, ...rest })).key;
  return {
    agents: await key('agents', ['sidecar.library', 'govern', 'govern.impersonate']),
    sidecar: await key('sidecar', ['sidecar.sync']),
    mia: await key('mia', ['govern', 'policies.read', 'policies.write'], { uid: 'mia' }),
    bob: await key('bob', ['admin.approvals'], { uid: 'bob' }),
  };
}

/** Writes one document for each layer, from the broadest to the most specific. */
export async function writePolicies(owner: Rest, mia: Rest): Promise<void> {
  await owner('PUT', `${admin}/workspacePolicy`, {
    defaults: { api: { permission: 'allow', transform: 'redact' } },
    tools: {
      'payments.transfer': {
        api: {
          permission: 'ask',
          ask: { approvers: ['role:admin'], reason: 'look at the recipient' },
          cases: [{ name: 'small', when: 'args.amount <= 100', permission: 'allow' }],
        },
      },
    },
  });
  await owner('PUT', `${admin}/rolePolicies/member`, forTool('get-structured-content', { rateLimit: 2 }));
  const agentType = encodeURIComponent('ai-sdk::api::scout');
  await owner('PUT', `${admin}/agentTypePolicies/${agentType}`, {
    mode: 'audit-only',
    ...forTool('gzip-file-as-resource', { permission: 'deny' }),
  });
  await mia('PUT', `${admin}/userPolicies/mia`, forTool('get-env', { permission: 'deny' }));
}

/**
 * Registers the agent `scout` with its caps. Caps are not policy: no policy mode, such as `audit-only`, changes them.
 */
export async function registerScout(owner: Rest): Promise<void> {
  const tools = ['echo', 'get-structured-content', 'get-env', 'gzip-file-as-resource', 'get-sum'];
  await owner('POST', '/api/v1/agents', {
    name: 'scout',
    model: 'demo/echo',
    enabledTools: tools.map((tool) => `everything.${tool}`),
    maxToolCalls: 6,
  });
}

/**
 * Mia tries to turn off redaction for her own calls. The workspace's policy redacts, and a member cannot loosen that.
 * Returns the refusal.
 */
export async function loosenOwn(mia: Rest): Promise<RestRefused> {
  try {
    await mia('PUT', `${admin}/userPolicies/mia`, forTool('echo', { transform: 'log' }));
  } catch (error) {
    if (error instanceof RestRefused && error.status === 403) return error;
    throw error;
  }
  throw new Error('the control plane must refuse a member who loosens the policy of the workspace, but it accepted the change');
}

/** Denies the tool `echo` for the workspace. The demo does this while an agent runs. */
export const denyEcho = (owner: Rest): Promise<unknown> =>
  owner('PUT', `${admin}/workspacePolicy`, forTool('echo', { permission: 'deny' }));
