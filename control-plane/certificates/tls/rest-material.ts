// Reads the certificate of REST, which another program renews: tls.crt and tls.key of a folder. Files that no client would
// accept are rejected: at the start it ends the start, and at a check the certificate from before stays in use.
import { lifeOf } from '../x509/authorities.ts';
import { readCertificates } from '../x509/given-certificates.ts';
import type { MaintainedMaterial, Material } from './material.ts';

export const restPairIn =
  (folder: string, now: () => Date) =>
  async (held: Material | null): Promise<Material> => {
    const pair = await readCertificates(folder);
    if (held !== null && held.certificate === pair.certificate && held.key === pair.key) return held;
    const { from, until } = lifeOf(pair);
    const nowMs = now().getTime();
    if (until <= nowMs) throw new Error(`the certificate in ${folder}/tls.crt has expired: it was valid until ${isoOf(until)}`);
    if (from > nowMs) throw new Error(`the certificate in ${folder}/tls.crt is not valid yet: it is valid from ${isoOf(from)}`);
    return { ...pair, authorities: [] };
  };

const isoOf = (ms: number): string => new Date(ms).toISOString();

/** Returns what the operator should look at. The port still answers, with the last good certificate. */
export function restWarnings(rest: MaintainedMaterial | null): readonly string[] {
  if (rest === null || rest.current === null) return [];
  const { current, failure, problem } = rest;
  if (problem !== null) return [`clients refuse the certificate of REST: ${problem}`];
  const until = isoOf(lifeOf(current).until);
  return failure === null
    ? []
    : [`the certificate of REST is not renewed: ${failure}; the one from before is used, which is valid until ${until}`];
}
