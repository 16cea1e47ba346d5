import type { Log } from '../../sidecar/log.ts';

export const silentLog: Log = { info: () => undefined, warn: () => undefined };
