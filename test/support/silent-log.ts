import type { Log } from '../../sidecar/audit/log.ts';

export const silentLog: Log = { info: () => undefined, warn: () => undefined };
