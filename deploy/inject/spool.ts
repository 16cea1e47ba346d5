// The volume of a sidecar's spool. It contains undelivered entries. What they survive depends on the kind of volume:
//   emptyDir  a restart of the sidecar, but not of the pod
//   hostPath  the pod: the next sidecar of the workspace on that node ships the remaining entries
//   a claim   the node, if the claim can move
import type { NamedRow, Row } from './pod.ts';
import type { InjectSettings } from './settings.ts';
import { volumePrefix } from './status.ts';
import type { Spool } from './settings.ts';

export const spoolFolder = '/var/lib/tollgate';
const spoolName = `${volumePrefix}spool`;

/** Returns the volumes to add, and the name to mount. */
export function spoolVolume(spool: Spool, settings: InjectSettings): { readonly volumes: readonly NamedRow[]; readonly name: string } {
  if (spool.kind === 'volume') return { volumes: [], name: spool.volume };
  return { volumes: [{ name: spoolName, ...sourceOf(spool, settings) }], name: spoolName };
}

function sourceOf(spool: Exclude<Spool, { readonly kind: 'volume' }>, settings: InjectSettings): Row {
  switch (spool.kind) {
    case 'emptyDir':
      return { emptyDir: { sizeLimit: settings.spoolSizeLimit } };
    // A missing folder is not created, because it would belong to root and no sidecar could write to it.
    case 'hostPath':
      return { hostPath: { path: settings.spoolHostPath, type: 'Directory' } };
    case 'claim':
      return { persistentVolumeClaim: { claimName: spool.claim } };
  }
}
