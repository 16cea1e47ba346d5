// Who calls through agentgateway: as the headers of the request say, and before them the metadata that the gateway's configuration
// makes, where the gateway keeps a header to itself or shows none.
import type { McpHeader__Output, Struct__Output } from '@tollgate/proto/mesh';
import { type Headers } from '../caller-headers.ts';
import { headersOf, metadataText } from './checked-request.ts';

interface Shown {
  readonly headers?: readonly McpHeader__Output[];
  readonly metadataContext: Struct__Output | null;
}

export function callerHeaders({ headers = [], metadataContext }: Shown): Headers {
  const shown = headersOf(headers.map(({ key, value }) => [key, value.toString('latin1')] as const));
  const said = [...fields].flatMap(([field, header]) => {
    const value = metadataText(metadataContext, field);
    return value === null ? [] : [[header, value] as const];
  });
  return { ...shown, ...Object.fromEntries(said) };
}

const fields: ReadonlyMap<string, string> = new Map([
  ['tollgate_authorization', 'authorization'],
  ['tollgate_agent', 'x-tollgate-agent'],
  ['tollgate_tier', 'x-tollgate-tier'],
  ['tollgate_session', 'x-tollgate-session'],
]);
