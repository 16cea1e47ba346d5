// Opens the credentials of a sidecar, in the form that `LinkTls` configures.
import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import { keepEnrolled } from './enrolled.ts';
import { followGiven } from './given.ts';
import { createCredentialsCell, type LinkCredentials } from './credentials.ts';
import { keepAuthorities } from './kept-authorities.ts';
import type { LinkTls } from './options.ts';

interface CredentialsContext {
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

interface Own {
  /** The key for the certificate request, used if there is no token. */
  readonly key: string;
  /** The folder where received authorities are stored. */
  readonly folder: string;
}

/** Opens the credentials. If it has to wait, it waits only for the disk. */
export async function openCredentials(deps: CredentialsContext, tls: LinkTls, { key, folder }: Own): Promise<LinkCredentials> {
  switch (tls.kind) {
    case 'checked': {
      const cell = createCredentialsCell(false);
      cell.take({ authorities: tls.ca, own: null });
      return cell.credentials;
    }
    case 'given':
      return followGiven(deps, tls.folder);
    case 'enrolled': {
      const { ca, enrol, tokenFile } = tls;
      const { askCertificate } = await import('./ask-certificate.ts');
      const kept = keepAuthorities(folder, ca, deps.log);
      const ask = (authorities: string) => askCertificate(deps.clock, { enrol, tokenFile, key }, authorities);
      return keepEnrolled({ ...deps, ask, keep: (authorities) => kept.write(authorities) }, { ca, kept: await kept.read() });
    }
  }
}
