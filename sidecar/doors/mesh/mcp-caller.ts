// Reads the caller of a request through agentgateway, from the headers of the request. Metadata from the gateway's
// configuration overrides them, because the gateway may withhold some or all headers.
import type { McpHeader__Output, Struct__Output } from '@tollgate/proto/mesh';
import { type Headers } from '../entrance/caller-headers.ts';
import { headersOf, metadataText } from './checked-request.ts';

interface CallerMetadata {
  readonly headers?: readonly McpHeader__Output[];
  readonly metadataContext: Struct__Output | null;
}

export function callerHeaders({ headers = [], metadataContext }: CallerMetadata): Headers {
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
