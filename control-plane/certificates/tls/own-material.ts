// Makes the certificates that the control plane's own authority signs: the certificates of clients, and the server
// certificate of this process. The private key of the server certificate never leaves the process.
import type { KeyObject } from 'node:crypto';
import { type Authority, type DatedAuthority, renewedServer, type Server, validityBy } from '../x509/authorities.ts';
import { makeClient } from '../x509/certificate.ts';
import type { Material } from './material.ts';
import type { OwnTerms } from './terms.ts';

interface OwnAuthorities {
  /** The unexpired authorities, oldest first. */
  readonly authorities: readonly DatedAuthority[];
  /** The authority that signs now. */
  readonly signer: Authority;
}

interface OwnMaterialDeps {
  /** Returns the current authorities, which all control planes share. */
  readonly find: () => Promise<OwnAuthorities>;
  /** The DNS names and IP addresses with which clients reach the process. */
  readonly names: readonly string[];
  readonly terms: OwnTerms;
  readonly now: () => Date;
}

interface IssuedClient {
  readonly certificate: string;
  readonly expiresAt: Date;
}

export interface OwnMaterial {
  readonly find: (held: Material | null) => Promise<Material>;
  /** Returns null while no unexpired authority is available. */
  readonly issue: (publicKey: KeyObject, uri: string) => IssuedClient | null;
}

export function createOwnMaterial({ find, names, terms, now }: OwnMaterialDeps): OwnMaterial {
  let server: Server | null = null;
  let signer: Authority | null = null;
  return {
    find: async (held) => {
      const own = await find();
      signer = own.signer;
      server = renewedServer(server, signer, { now: now(), names, terms });
      const authorities = own.authorities.map(({ certificate }) => certificate);
      const { certificate, key } = server;
      const isSame = held !== null && held.certificate === certificate && held.authorities.join() === authorities.join();
      return isSame ? held : { certificate, key, authorities };
    },
    issue: (publicKey, uri) => {
      if (signer === null) return null;
      const validity = validityBy(signer, { now: now(), terms, ms: terms.clientMs });
      if (validity.until <= now()) return null;
      return { certificate: makeClient(signer, { publicKey, uri, validity }), expiresAt: validity.until };
    },
  };
}
