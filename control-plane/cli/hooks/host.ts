// What is known of a host whose hooks we stand among: where its settings are, and how we get in, out, and seen there.
import type { Surroundings } from './connection.ts';
import { type OnPlatform, pathsOf } from './paths.ts';
import type { Shell } from './shell-line.ts';

export type Scope = 'user' | 'project';

/** How a host is to ask: by a program that it starts, or over HTTP by itself. */
export type Way =
  /** `shell`: that of the machine. As it is to be installed, without what denies where the program is gone; as it is found, with it. */
  { readonly kind: 'command'; readonly command: string; readonly shell?: Shell } | HttpWay;

export interface HttpWay {
  readonly kind: 'http';
  readonly url: string;
  readonly agent?: string;
  readonly hostVersion?: string | null;
  /** As they are found, with variables in them; and which of these the host puts in. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly allowedEnvVars?: readonly string[];
}

/** What of ours stands in settings. */
export interface Installed {
  readonly way: Way;
  /** Why the host does not wait for it before every call, in words. */
  readonly gaps: readonly string[];
}

interface Edit {
  readonly text: string;
  /** What `remove` has to know later on, in words of its own. */
  readonly made: readonly string[];
}

interface Known {
  /** Of `add`, since the last `remove`. */
  readonly made?: readonly string[];
  /** The file, by all its names. */
  readonly names?: readonly string[];
}

/** That our hooks left a file, or were replaced in it. */
interface Departure {
  /** The file, by all its names, and what it said before. */
  readonly names: readonly string[];
  readonly text: string;
  readonly made: readonly string[];
  readonly isReplaced: boolean;
}

export interface HostSettings {
  readonly title: string;
  /** Of its program, on PATH. */
  readonly programs: readonly string[];
  /** Of the user's, which is there once it was used. */
  folder(surroundings: Surroundings): string;
  file(scope: Scope, surroundings: Surroundings, project: string): string;
  /** In place of what there is of ours. */
  add(text: string, way: Way, known?: Known): Edit;
  /** `made`: of every `add` since the last `remove`. */
  remove(text: string, made: readonly string[], known?: Pick<Known, 'names'>): string;
  /** `text` of the user's settings, with what the host keeps there of hooks in another file. */
  follow?(text: string, departure: Departure): string;
  /** Whether nothing is left in it. */
  isBare(text: string): boolean;
  /** All of ours that stands there, to be compared: where nothing would change, nothing is written. */
  ours?(text: string): unknown;
  /** What of ours stands there, for the event before a call. */
  installed(text: string, on?: OnPlatform): Installed | null;
  /** What of ours it loads denies by itself where the program is gone: there is no line of a shell to prove it by. */
  readonly deniesByItself?: true;
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
  const folder: HostSettings['folder'] = (surroundings) => {
    const named = surroundings.env[variable];
    return named === undefined || named === '' ? pathsOf(surroundings).join(surroundings.home, name) : named;
  };
  return {
    folder,
    file: (scope, surroundings, project) => {
      const path = pathsOf(surroundings);
      return scope === 'user' ? path.join(folder(surroundings), file) : path.join(project, projectFile);
    },
  };
}

export const commandOf = (way: Way): string => (way.kind === 'command' ? way.command : '');
