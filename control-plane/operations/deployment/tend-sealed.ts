// A chore of every control plane: what an older key of TOLLGATE_SECRET_KEY sealed is sealed anew by the first one, at the start and each minute
// while there are several, since a control plane that was told of them earlier may still seal by an older one. It says what it did, when the
// first key is all that is needed, and what no key opens.
import type { Deps } from '../operation.ts';
import { reseal, type Resealed } from './reseal.ts';

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** The others are only counted. */
const namedMax = 20;

export function createSealTending({ pool, sealer, log }: Pick<Deps, 'pool' | 'sealer'> & { readonly log: Log }) {
  /** Null until it has looked. */
  let unopened: readonly string[] | null = null;

  const say = ({ toolServers, authorities }: Resealed, keys: number): void => {
    const counts = { toolServers: toolServers.resealed, authorities: authorities.resealed };
    const resealed = counts.toolServers + counts.authorities > 0;
    if (resealed) log.info(counts, 'sealed anew by the first key of TOLLGATE_SECRET_KEY');
    const before = unopened?.join('\n');
    unopened = [...authorities.unopened, ...toolServers.unopened];
    if (!resealed && before === unopened.join('\n')) return;
    if (unopened.length > 0)
      log.warn({ count: unopened.length, sealed: unopened.slice(0, namedMax) }, 'no key of TOLLGATE_SECRET_KEY opens what is sealed');
    else if (keys > 1)
      log.info(
        { keys },
        'the first key of TOLLGATE_SECRET_KEY opens all that is sealed; the others are not needed where every control plane has it first',
      );
  };

  return {
    tend: async (): Promise<void> => {
      const isSettled = sealer?.keys === 1 && unopened?.length === 0;
      if (sealer !== null && !isSettled) say(await reseal({ pool, sealer }), sealer.keys);
    },
    /** For `/readyz`: how much is sealed that no key opens. */
    problems: (): readonly string[] =>
      unopened === null || unopened.length === 0
        ? []
        : [`no key of TOLLGATE_SECRET_KEY opens ${unopened.length} of what is sealed; the log names them`],
  };
}

export type SealTending = ReturnType<typeof createSealTending>;
