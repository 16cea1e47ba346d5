// Returns whether a host is this machine's loopback, where plain text is no risk.
import { isIP } from 'node:net';

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
