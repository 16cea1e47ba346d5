// The contracts that users rely on, each as a text that is made from the code. `npm run frozen` and the test compare it
// with its file here.
import { cliText } from './made/cli.ts';
import { codesText } from './made/codes.ts';
import { entryFieldsText } from './made/entry-fields.ts';
import { environmentText } from './made/environment.ts';
import { metricsText } from './made/metrics.ts';
import { openapiText } from './made/openapi.ts';
import { protoText } from './made/proto.ts';

const makers: Readonly<Record<string, () => string | Promise<string>>> = {
  'cli.txt': cliText,
  'codes.txt': codesText,
  'entry-fields.txt': entryFieldsText,
  'environment.txt': environmentText,
  'metrics.txt': metricsText,
  'openapi.json': openapiText,
  'proto.txt': protoText,
};

/** By the names of their files. */
export async function makeContracts(): Promise<ReadonlyMap<string, string>> {
  return new Map(await Promise.all(Object.entries(makers).map(async ([name, make]) => [name, await make()] as const)));
}
