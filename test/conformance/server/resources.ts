// The resources that the suite reads.
import { ProtocolError, ProtocolErrorCode, type ReadResourceResult, type Resource } from '@modelcontextprotocol/server';
import { image } from './media.ts';

interface SuiteResource {
  readonly definition: Resource;
  readonly content: { readonly text: string } | { readonly blob: string };
}

export const resources: readonly SuiteResource[] = [
  {
    definition: { name: 'static-text', uri: 'test://static-text', mimeType: 'text/plain' },
    content: { text: 'This is the content of the static text resource.' },
  },
  { definition: { name: 'static-binary', uri: 'test://static-binary', mimeType: image.mimeType }, content: { blob: image.data } },
  { definition: { name: 'watched-resource', uri: 'test://watched-resource', mimeType: 'text/plain' }, content: { text: 'Watched.' } },
];

export const resourceTemplate = { name: 'template', uriTemplate: 'test://template/{id}/data', mimeType: 'application/json' };

export function readResource(uri: string): ReadResourceResult {
  const known = resources.find(({ definition }) => definition.uri === uri);
  if (known !== undefined) {
    const { mimeType = 'text/plain' } = known.definition;
    return { contents: [{ uri, mimeType, ...known.content }] };
  }
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource not found: ${uri}`, { uri });
  const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { contents: [{ uri, mimeType: resourceTemplate.mimeType, text }] };
}
