// What is known of a host whose hooks we stand among: where its settings are, and how we get in, out, and seen there.
import { join } from 'node:path';
import type { Surroundings } from './connection.ts';

export type Scope = 'user' | 'project';

/** How a host is to ask: by a program that it starts, or over HTTP by itself. */
export type Way = { readonly kind: 'command'; readonly command: string } | { readonly kind: 'http'; readonly url: string };

/** What of ours stands in settings. */
export interface Installed {
  readonly way: Way;
  /** Why the host does not wait for it before every call, in words. */
  readonly gaps: readonly string[];
}

interface Edit {
  readonly text: string;
  readonly made: readonly string[];
}

export interface HostSettings {
  readonly title: string;
  /** Of its program, on PATH. */
  readonly programs: readonly string[];
  /** Of the user's, which is there once it was used. */
  folder(surroundings: Surroundings): string;
  file(scope: Scope, surroundings: Surroundings, project: string): string;
  add(text: string, way: Way): Edit;
  remove(text: string, made: readonly string[]): string;
  /** Whether nothing is left in it. */
  isBare(text: string): boolean;
  /** What of ours stands there, for the event before a call. */
  installed(text: string): Installed | null;
  /** What else its user has to know. */
  readonly notes: readonly string[];
}

/** Above what `tollgate hook` waits. */
export const timeoutSeconds = 10;

/** What is said of every host, however its settings are written. */
export interface HostFacts extends Pick<HostSettings, 'title' | 'programs' | 'notes'> {
  /** Its variable for another folder, and the folder's name in the user's home. */
  readonly home: readonly [variable: string, name: string];
  /** In that folder, and in a project. */
  readonly file: string;
  readonly projectFile: string;
  /** The event before a call. */
  readonly before: string;
}

export function placesOf({ home: [variable, name], file, projectFile }: HostFacts): Pick<HostSettings, 'folder' | 'file'> {
  const folder: HostSettings['folder'] = ({ env, home }) => {
    const named = env[variable];
    return named === undefined || named === '' ? join(home, name) : named;
  };
  return {
    folder,
    file: (scope, surroundings, project) => (scope === 'user' ? join(folder(surroundings), file) : join(project, projectFile)),
  };
}

export const commandOf = (way: Way): string => (way.kind === 'command' ? way.command : '');
