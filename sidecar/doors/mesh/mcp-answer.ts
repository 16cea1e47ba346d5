// Builds the answers in agentgateway's message types.
import type { McpRequestResult } from '@tollgate/proto/mesh';
import type { Denial } from '../../engine/govern/verdict.ts';
import type { Headers } from '../entrance/caller-headers.ts';
import { denialAnswer, refusalBody, toldDenial } from '../denial-body.ts';
import { headersToRemove, type Refusal } from './asking.ts';

export const mutated = (json: string): { readonly mutated: Buffer } => ({ mutated: Buffer.from(json) });

/** Returns the changes that accompany a forwarded request. `isApproved`: a person has approved it. */
export const forwardedWith = (
  headers: Headers,
  id: string | null,
  isApproved = false,
): Pick<McpRequestResult, 'headerMutation' | 'metadata'> => ({
  headerMutation: {
    set: id === null ? [] : [{ key: 'x-tollgate-request-id', value: Buffer.from(id) }],
    remove: [...headersToRemove(headers, isApproved)],
  },
  ...(id === null ? {} : { metadata: { fields: { tollgate_call: { stringValue: id } } } }),
});

export const denied = (denial: Denial) => ({
  error: {
    code: denial.code === 'rate_limited' ? ('RESOURCE_EXHAUSTED' as const) : ('PERMISSION_DENIED' as const),
    reason: toldDenial(denial),
    mcpError: Buffer.from(JSON.stringify(denialAnswer(denial).body)),
  },
});

const codeOf = {
  400: 'INVALID',
  401: 'PERMISSION_DENIED',
  403: 'PERMISSION_DENIED',
  429: 'RESOURCE_EXHAUSTED',
  500: 'UNKNOWN',
  503: 'UNKNOWN',
} as const;

export const refused = ({ status, code, words, retryAfterMs }: Refusal) => ({
  error: { code: codeOf[status], reason: words, mcpError: Buffer.from(JSON.stringify(refusalBody(code, words, retryAfterMs))) },
});
