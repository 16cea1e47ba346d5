// The volume of a sidecar's spool: what is not delivered yet lies there, and outlives what the volume outlives.
//   emptyDir  a restart of the sidecar; not the pod
//   hostPath  the pod: the next sidecar of the workspace on that node ships what it left
//   a claim   the node, where the claim can move
import type { Named, Row } from './pod.ts';
import type { InjectSettings } from './settings.ts';
import { volumePrefix } from './status.ts';
import type { Spool } from './wanted.ts';

export const spoolFolder = '/var/lib/tollgate';
const spoolName = `${volumePrefix}spool`;

/** The volumes to add, and the name to mount. */
export function spoolVolume(spool: Spool, settings: InjectSettings): { readonly volumes: readonly Named[]; readonly name: string } {
  if (spool.kind === 'volume') return { volumes: [], name: spool.volume };
  return { volumes: [{ name: spoolName, ...sourceOf(spool, settings) }], name: spoolName };
}

function sourceOf(spool: Exclude<Spool, { readonly kind: 'volume' }>, settings: InjectSettings): Row {
  switch (spool.kind) {
    case 'emptyDir':
      return { emptyDir: { sizeLimit: settings.spoolSizeLimit } };
    // Not made where it is missing: it would be root's, and no sidecar could write there.
    case 'hostPath':
      return { hostPath: { path: settings.spoolHostPath, type: 'Directory' } };
    case 'claim':
      return { persistentVolumeClaim: { claimName: spool.claim } };
  }
}
