// Reads the address of the resident sidecar and the key for it. They come from TOLLGATE_SIDECAR and TOLLGATE_KEY, or
// else from the file that `tollgate hooks install` writes and that only its owner can read. The file's key is sent only
// to the file's address. This code is loaded for every tool call of a host, so it imports only modules of Node.
import { readFileSync, statSync } from 'node:fs';
import type { RequestOptions } from 'node:http';
import { urlToHttpOptions } from 'node:url';
import { type OnPlatform, pathsOf } from './paths.ts';

export interface Surroundings extends OnPlatform {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The user's home folder. */
  readonly home: string;
}

export interface Connection {
  /** The address of the sidecar, without a trailing slash, or `unix:` and the path of its socket. */
  readonly sidecar: string;
  readonly key: string;
  readonly keyFrom: string;
}

export const standardSidecar = 'http://127.0.0.1:9090';

/** Returns our configuration folder in the user's home. */
export function configFolder(surroundings: Surroundings): string {
  const path = pathsOf(surroundings);
  const { env, home } = surroundings;
  const config = env['XDG_CONFIG_HOME'];
  return path.join(config === undefined || config === '' ? path.join(home, '.config') : config, 'tollgate');
}

export const connectionPath = (surroundings: Surroundings): string =>
  pathsOf(surroundings).join(configFolder(surroundings), 'sidecar.json');

/** Returns the connection, or the problem in words that contain no key. */
export function readConnection(surroundings: Surroundings): Connection | { readonly problem: string } {
  const { env } = surroundings;
  const path = connectionPath(surroundings);
  const fromEnvironment = filled(env['TOLLGATE_KEY']);
  const named = filled(env['TOLLGATE_SIDECAR']);
  // If both the address and the key are given, the file is not read. A broken file then causes no error.
  const file = fromEnvironment !== undefined && named !== undefined ? null : readFile(path);
  if (file !== null && 'problem' in file) return file;
  const sidecar = checkAddress(named ?? file?.sidecar ?? standardSidecar, env);
  if (typeof sidecar !== 'string') return sidecar;
  if (fromEnvironment !== undefined) return { sidecar, key: fromEnvironment, keyFrom: 'TOLLGATE_KEY' };
  if (file === null) return { problem: `no key is set: set TOLLGATE_KEY, or run tollgate hooks install, which stores one in ${path}` };
  if (checkAddress(file.sidecar, env) !== sidecar)
    return { problem: `the key in ${path} is for ${file.sidecar} and is not sent to ${sidecar}; set TOLLGATE_KEY` };
  return { sidecar, key: file.key, keyFrom: path };
}

interface ConnectionFile {
  readonly sidecar: string;
  readonly key: string;
}

function readFile(path: string): ConnectionFile | { readonly problem: string } | null {
  let text: string;
  try {
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
      return { problem: `${path} contains a key and other users can read it; run: chmod 600 ${path}` };
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    return { problem: `${path} cannot be read` };
  }
  return parseFile(text) ?? { problem: `${path} has no valid content; run tollgate hooks install again` };
}

function parseFile(text: string): ConnectionFile | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('sidecar' in value) || !('key' in value)) return null;
    const { sidecar, key } = value;
    return typeof sidecar === 'string' && typeof key === 'string' ? { sidecar, key } : null;
  } catch {
    return null;
  }
}

/** Returns the path of the socket in an address; null: it is the address of a port. */
export const socketIn = (sidecar: string): string | null => (sidecar.startsWith('unix:') ? sidecar.slice('unix:'.length) : null);

/** Returns where Node sends a request for a path of the sidecar. */
export function requestFor(sidecar: string, path: string): RequestOptions {
  const socketPath = socketIn(sidecar);
  return socketPath === null ? urlToHttpOptions(new URL(`${sidecar}${path}`)) : { socketPath, path };
}

/** Returns the address without a trailing slash, or the problem if it is not valid. */
export function checkAddress(text: string, env: Surroundings['env']): string | { readonly problem: string } {
  const socket = socketIn(text);
  // The kernel decides who may connect, and nothing leaves the machine.
  if (socket !== null) return socket.startsWith('/') ? text : { problem: "the path of the sidecar's socket must be absolute: unix:/path" };
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return { problem: `the sidecar's address must have the form ${standardSidecar} or unix:/path` };
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    return { problem: "the sidecar's address must not contain a user, password, query or fragment" };
  if (url.protocol === 'http:' && !isLoopbackName(url.hostname) && env['TOLLGATE_ALLOW_PLAINTEXT'] !== 'true')
    return {
      problem: `${url.origin} is on another machine, and a key must not be sent there without TLS; use https, or set TOLLGATE_ALLOW_PLAINTEXT=true`,
    };
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

const isLoopbackName = (name: string): boolean => name === 'localhost' || name === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(name);

const filled = (text: string | undefined): string | undefined => (text === '' ? undefined : text);
