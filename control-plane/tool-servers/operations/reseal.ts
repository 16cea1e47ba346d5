// Encrypts all sealed data in the database again with the first key of TOLLGATE_SECRET_KEY. Two processes may run it at
// the same time: the second one finds nothing to do. A row that another process has written in the meantime is not
// overwritten.
import { secretPlace } from '../../approvals/operations/secrets.ts';
import { readSecret, replaceSecret } from '../../approvals/store/secret.ts';
import { listAuthorities, lockAuthorities, updateSealedKey } from '../../certificates/store.ts';
import type { Sealer } from '../store/sealed.ts';
import { listSealedServers, type SealedServer, updateSealedServers } from '../store/sealed-servers.ts';
import { inTransaction } from '../../database/transaction.ts';
import { authorityPlace } from '../../certificates/operations/maintain-authorities.ts';
import type { OperationDeps } from '../../access/operation.ts';
import { toolServerPlace } from './tool-server-secrets.ts';

type ResealDeps = Pick<OperationDeps, 'pool'> & { readonly sealer: Sealer };

interface Kind {
  /** The number of items that were sealed again. */
  readonly resealed: number;
  /** The items that no key can decrypt, in words. */
  readonly unopened: readonly string[];
}

export interface ResealCounts {
  readonly toolServers: Kind;
  readonly authorities: Kind;
  /** The secret of approvals: one, or none before the first approval. */
  readonly approvalSecrets: Kind;
}

const pageRows = 200;

export async function reseal(deps: ResealDeps): Promise<ResealCounts> {
  return {
    authorities: await resealAuthorities(deps),
    toolServers: await resealToolServers(deps),
    approvalSecrets: await resealApprovalSecret(deps),
  };
}

/** Uses one transaction for each page of servers. */
async function resealToolServers(deps: ResealDeps): Promise<Kind> {
  let all: Kind = { resealed: 0, unopened: [] };
  let after: SealedServer | null = null;
  for (;;) {
    const page: readonly SealedServer[] = await listSealedServers(deps.pool, after, pageRows);
    after = page.at(-1) ?? null;
    if (after === null) return all;
    const { resealed, unopened } = await resealPage(deps, page);
    all = { resealed: all.resealed + resealed, unopened: [...all.unopened, ...unopened] };
  }
}

async function resealPage({ pool, sealer }: ResealDeps, page: readonly SealedServer[]): Promise<Kind> {
  const looked = page.map((server) => ({ ...server, resealedBytes: sealer.reseal(server.sealed, toolServerPlace(server)) }));
  const stale = looked.flatMap(({ resealedBytes, ...server }) =>
    resealedBytes === null || resealedBytes === server.sealed ? [] : { ...server, resealedBytes },
  );
  const lost = looked.filter(({ resealedBytes }) => resealedBytes === null);
  return {
    resealed: stale.length === 0 ? 0 : await inTransaction(pool, (client) => updateSealedServers(client, stale)),
    unopened: lost.map(({ workspaceId, name }) => `tool server ${name} of workspace ${workspaceId}`),
  };
}

function resealAuthorities({ pool, sealer }: ResealDeps): Promise<Kind> {
  return inTransaction(pool, async (client) => {
    await lockAuthorities(client);
    const unopened: string[] = [];
    let resealed = 0;
    for (const stored of await listAuthorities(client)) {
      const resealedBytes = sealer.reseal(stored.sealedKey, authorityPlace(stored));
      if (resealedBytes === null) unopened.push(`authority of ${stored.madeAt}`);
      else if (resealedBytes !== stored.sealedKey && (await updateSealedKey(client, stored, resealedBytes))) resealed += 1;
    }
    return { resealed, unopened };
  });
}

/** A secret that is not encrypted yet is encrypted when it is used next. */
async function resealApprovalSecret({ pool, sealer }: ResealDeps): Promise<Kind> {
  const stored = await readSecret(pool);
  if (stored === null || !stored.isSealed) return { resealed: 0, unopened: [] };
  const resealedBytes = sealer.reseal(stored.secret, secretPlace);
  if (resealedBytes === null) return { resealed: 0, unopened: ['the secret of approvals'] };
  if (resealedBytes === stored.secret) return { resealed: 0, unopened: [] };
  const isReplaced = await replaceSecret(pool, stored.secret, { secret: resealedBytes, isSealed: true });
  return { resealed: isReplaced ? 1 : 0, unopened: [] };
}
