import type { Log } from '../../sidecar/base/log.ts';

export const silentLog: Log = { info: () => undefined, warn: () => undefined };
