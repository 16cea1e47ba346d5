// Periodic job of every control plane. It finds the secrets that an older key encrypted, and encrypts them again with
// the first key of `TOLLGATE_SECRET_KEY`. It runs at the start. It also runs each minute while there are several keys,
// because a control plane with an earlier configuration may still encrypt with an older key. It logs what it encrypted
// again. It also logs when the first key decrypts all secrets, and which secrets no key can decrypt.
import type { OperationDeps } from '../../access/operation.ts';
import { reseal, type ResealCounts } from './reseal.ts';

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** The log names at most this number of items. It counts all items. */
const namedMax = 20;

export function createResealChore({ pool, sealer, log }: Pick<OperationDeps, 'pool' | 'sealer'> & { readonly log: Log }) {
  /** The items that no key can decrypt. Null: no check has run yet. */
  let unopened: readonly string[] | null = null;

  const say = ({ toolServers, authorities, approvalSecrets }: ResealCounts, keys: number): void => {
    const counts = {
      toolServers: toolServers.resealed,
      authorities: authorities.resealed,
      approvalSecrets: approvalSecrets.resealed,
    };
    const resealed = counts.toolServers + counts.authorities + counts.approvalSecrets > 0;
    if (resealed) log.info(counts, 'secrets were encrypted again with the first key of TOLLGATE_SECRET_KEY');
    const before = unopened?.join('\n');
    unopened = [...authorities.unopened, ...toolServers.unopened, ...approvalSecrets.unopened];
    if (!resealed && before === unopened.join('\n')) return;
    if (unopened.length > 0)
      log.warn(
        { count: unopened.length, sealed: unopened.slice(0, namedMax) },
        'some secrets cannot be decrypted with any key of TOLLGATE_SECRET_KEY',
      );
    else if (keys > 1)
      log.info(
        { keys },
        'the first key of TOLLGATE_SECRET_KEY decrypts all secrets; the other keys can be removed when this key is the first key of every control plane',
      );
  };

  return {
    run: async (): Promise<void> => {
      const isSettled = sealer?.keys === 1 && unopened?.length === 0;
      if (sealer !== null && !isSettled) say(await reseal({ pool, sealer }), sealer.keys);
    },
    /**
     * Returns a problem for `/readyz` that says how many sealed items no key can decrypt. Empty: no such item is known.
     */
    problems: (): readonly string[] =>
      unopened === null || unopened.length === 0
        ? []
        : [`no key of TOLLGATE_SECRET_KEY decrypts ${unopened.length} of the secrets; the log names them`],
  };
}

export type ResealChore = ReturnType<typeof createResealChore>;
