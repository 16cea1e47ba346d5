// Selects the control plane and the key of a command. `--url` has priority over TOLLGATE_URL, which has priority over
// the profile. TOLLGATE_KEY has priority over the profile's key. A profile's key is sent only to the profile's own
// address.
import { isLoopback, parseKey } from '@tollgate/proto/contract';
import { type Client, createClient } from './client.ts';
import { Failure } from '../failure.ts';
import { readProfile } from '../profiles.ts';
import type { World } from '../world.ts';

/** The options of every command. */
export interface Globals {
  readonly json?: true;
  readonly url?: string;
  readonly profile?: string;
  /** In seconds. Absent: the default. */
  readonly timeout?: string;
}

/** Our environment variables that commands other than `start` read. */
export const cliVariables = [
  'TOLLGATE_URL',
  'TOLLGATE_KEY',
  'TOLLGATE_OPERATOR_KEY',
  'TOLLGATE_SIDECAR',
  'TOLLGATE_ALLOW_PLAINTEXT',
] as const;

const standardUrl = 'http://127.0.0.1:8080';

/** Creates a client of the workspace that the key names. */
export async function connect(world: World, globals: Globals, note: (text: string) => void): Promise<Client> {
  const named = filled(globals.url) ?? filled(world.env['TOLLGATE_URL']);
  const fromEnvironment = filled(world.env['TOLLGATE_KEY']);
  // If both the address and the key are given, the profile is not read. A broken profile then causes no error.
  const profile = named !== undefined && fromEnvironment !== undefined ? null : await readProfile(world, globals.profile);
  const key = fromEnvironment ?? profile?.key;
  if (key === undefined) throw new Failure('no key is set: set TOLLGATE_KEY, or store one with tollgate profile add <name> --url <url>');
  if (globals.profile !== undefined && fromEnvironment !== undefined)
    note(`TOLLGATE_KEY is set and has priority over the key of ${globals.profile}`);
  const workspace = parseKey(key)?.workspace;
  const keyFrom = fromEnvironment === undefined ? `the key of profile ${profile?.name ?? ''}` : 'TOLLGATE_KEY';
  if (workspace === undefined)
    throw new Failure(`${keyFrom} is not a key; a key is gsk_<workspace>_ followed by 32 to 64 letters and digits`);
  const url = checkUrl(named ?? profile?.url ?? standardUrl, world.env);
  if (fromEnvironment === undefined && profile !== null && checkUrl(profile.url, world.env) !== url)
    throw new Failure(
      `${keyFrom} is for ${profile.url}, so it is not sent to another address; set TOLLGATE_KEY, or add a profile for ${url}`,
    );
  return createClient(world, { url, key, keyFrom, workspace, timeoutMs: answerMs(globals), note });
}

/** Creates a client for the operator, who manages workspaces. */
export async function connectAsOperator(world: World, globals: Globals, note: (text: string) => void): Promise<Client> {
  const key = filled(world.env['TOLLGATE_OPERATOR_KEY']);
  if (key === undefined)
    throw new Failure("commands for workspaces need the operator's key: set TOLLGATE_OPERATOR_KEY to the value that the control plane has");
  // For an invalid character in a header, the HTTP library throws an error that quotes the value. The key must not be
  // shown, so it is checked here.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Failure('TOLLGATE_OPERATOR_KEY must contain only printable ASCII characters without spaces');
  const named = filled(globals.url) ?? filled(world.env['TOLLGATE_URL']);
  const url = checkUrl(named ?? (await readProfile(world, globals.profile))?.url ?? standardUrl, world.env);
  return createClient(world, { url, key, keyFrom: 'TOLLGATE_OPERATOR_KEY', workspace: '', timeoutMs: answerMs(globals), note });
}

/** Returns the address without a trailing slash. Throws a Failure if it is not valid. */
export function checkUrl(text: string, env: World['env']): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new Failure(
      `the control plane's address must have the form ${standardUrl}, but the given address is ${withoutCredentials(text)}`,
    );
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new Failure("the control plane's address must not contain a user, password, query or fragment");
  if (url.protocol === 'http:' && !isLoopback(hostOf(url)) && env['TOLLGATE_ALLOW_PLAINTEXT'] !== 'true')
    throw new Failure(
      `${url.origin} is on another machine, and a key must not be sent there without TLS; use https, or set TOLLGATE_ALLOW_PLAINTEXT=true`,
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

const standardTimeout = '30';
/** The maximum of `--timeout`. No run can last longer. */
const timeoutSecondsMax = 86_400;
const answerMsMax = 300_000;

export function timeoutOf({ timeout = standardTimeout }: Globals): number {
  const seconds = Number(timeout);
  if (!/^\d+(?:\.\d+)?$/.test(timeout) || seconds <= 0 || seconds > timeoutSecondsMax)
    throw new Failure(`--timeout must be a number of seconds above 0 and at most ${timeoutSecondsMax}`);
  return seconds * 1_000;
}

/** Returns how long the client waits for an answer, at most `answerMsMax`. Only a run may have a longer time limit. */
const answerMs = (globals: Globals): number => Math.min(timeoutOf(globals), answerMsMax);

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');
const withoutCredentials = (text: string): string => text.replace(/\/\/[^/@]*@/, '//***@');
const filled = (text: string | undefined): string | undefined => (text === '' ? undefined : text);
