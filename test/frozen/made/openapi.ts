// The API document as `GET /openapi.json` answers it, with keys sorted so that the order of the sources does not matter.
import { createUnconnectedApp } from './app.ts';

export async function readApiDocument(): Promise<unknown> {
  const app = createUnconnectedApp();
  try {
    const { statusCode, payload } = await app.inject({ method: 'GET', url: '/openapi.json' });
    if (statusCode !== 200) throw new Error(`GET /openapi.json answered ${statusCode}: ${payload}`);
    return JSON.parse(payload);
  } finally {
    await app.close();
  }
}

export const openapiText = async (): Promise<string> => `${JSON.stringify(sortKeys(await readApiDocument()), null, 2)}\n`;

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const fields: readonly (readonly [string, unknown])[] = Object.entries(value);
  return Object.fromEntries(fields.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, field]) => [key, sortKeys(field)]));
}
