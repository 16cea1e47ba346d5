// Describes a host whose settings contain our hooks: where its settings are, and how our hooks are added, removed and
// found.
import type { Surroundings } from './connection.ts';
import { type OnPlatform, pathsOf } from './paths.ts';
import type { Shell } from './shell-line.ts';

export type Scope = 'user' | 'project';

/** How a host asks: with a program that it starts, or over HTTP itself. */
export type Way =
  /**
   * `shell`: the shell of the machine. A command to be installed does not include the part that denies if the program
   * is missing. A command that was found includes it.
   */
  { readonly kind: 'command'; readonly command: string; readonly shell?: Shell } | HttpWay;

export interface HttpWay {
  readonly kind: 'http';
  readonly url: string;
  readonly agent?: string;
  readonly hostVersion?: string | null;
  /** The headers as found, with variables in them, and the variables that the host replaces. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly allowedEnvVars?: readonly string[];
}

/** Our hook as it was found in settings. */
export interface Installed {
  readonly way: Way;
  /** Why the host does not wait for the hook before every call, in words. */
  readonly gaps: readonly string[];
}

interface Edit {
  readonly text: string;
  /** What `remove` must know later, in its own format. */
  readonly made: readonly string[];
}

interface Known {
  /** What `add` returned since the last `remove`. */
  readonly made?: readonly string[];
  /** All names of the file. */
  readonly names?: readonly string[];
}

/** Our hooks were removed from a file, or replaced in it. */
interface Departure {
  /** All names of the file; `text` is its content before the change. */
  readonly names: readonly string[];
  readonly text: string;
  readonly made: readonly string[];
  readonly isReplaced: boolean;
}

export interface HostSettings {
  readonly title: string;
  /** The names of the host's program on PATH. */
  readonly programs: readonly string[];
  /** The user's folder of the host, which exists after the host was used. */
  folder(surroundings: Surroundings): string;
  file(scope: Scope, surroundings: Surroundings, project: string): string;
  /** Replaces our hooks if there are any. */
  add(text: string, way: Way, known?: Known): Edit;
  /** `made`: from every `add` since the last `remove`. */
  remove(text: string, made: readonly string[], known?: Pick<Known, 'names'>): string;
  /**
   * `text`: the user's settings. Returns them with the changed data that the host stores there about hooks in another
   * file.
   */
  follow?(text: string, departure: Departure): string;
  /** Whether the text has no content left. */
  isBare(text: string): boolean;
  /** Returns all our hooks in the text, for comparison. If nothing would change, nothing is written. */
  ours?(text: string): unknown;
  /** Returns our hook for the event before a call. */
  installed(text: string, on?: OnPlatform): Installed | null;
  /** The loaded plugin itself denies if the program is missing, so there is no shell line with which to prove it. */
  readonly deniesByItself?: true;
  /** Further information for the user. */
  readonly notes: readonly string[];
}

/** In seconds; more than the time limit of `tollgate hook`. */
export const timeoutSeconds = 10;

/** The facts about every host, independent of the format of its settings. */
export interface HostFacts extends Pick<HostSettings, 'title' | 'programs' | 'notes'> {
  /** The environment variable for another folder, and the folder's name in the user's home. */
  readonly home: readonly [variable: string, name: string];
  /** The name in that folder, and in a project. */
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
