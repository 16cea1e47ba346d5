// Describes a host whose settings contain our hooks: where its settings are, and how our hooks are added, removed and
// found.
import type { HostName } from '@tollgate/proto/contract';
import type { Surroundings } from './connection.ts';
import { type OnPlatform, pathsOf } from './paths.ts';
import type { Shell } from './shell-line.ts';

export type Scope = 'user' | 'project';

/** How a host asks the sidecar: with a program that it starts, or directly over HTTP. */
export type Way =
  /**
   * `shell`: the shell of the machine. A command that is to be installed does not yet include the part that denies if
   * the program is missing. A command that was found in settings includes it. `waitMs`: how long a call waits for a
   * person, in ms, for a command that is to be installed.
   */
  { readonly kind: 'command'; readonly command: string; readonly shell?: Shell; readonly waitMs?: number | null } | HttpWay;

export interface HttpWay {
  readonly kind: 'http';
  readonly url: string;
  readonly agent?: string;
  readonly hostVersion?: string | null;
  /** How long a call waits for a person, in ms; null or absent: the hook does not say it. */
  readonly waitMs?: number | null;
  /**
   * The headers as written in the settings, with variables in them. `allowedEnvVars`: the variables that the host
   * replaces.
   */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly allowedEnvVars?: readonly string[];
}

/** Our hook as it was found in settings. */
export interface Installed {
  readonly way: Way;
  /** Reasons, in words, why the host does not ask the hook before every call, or why the hook does not block a call. */
  readonly gaps: readonly string[];
  /** How long the host waits for the hook, in seconds. Absent: the settings do not say it. */
  readonly limitSeconds?: number;
}

interface Edit {
  readonly text: string;
  /** Data that `remove` needs later, in its own format. */
  readonly made: readonly string[];
}

interface Known {
  /** What every `add` since the last `remove` returned as `made`. */
  readonly made?: readonly string[];
  /** All paths of the file: its own path, and the target of a link. */
  readonly names?: readonly string[];
}

/** Describes a file from which our hooks were removed, or in which they were replaced. */
interface Departure {
  /** All paths of the file; `text` is its content before the change. */
  readonly names: readonly string[];
  readonly text: string;
  readonly made: readonly string[];
  readonly isReplaced: boolean;
}

export interface HostSettings {
  readonly title: string;
  /** The names of the host's program on PATH. */
  readonly programs: readonly string[];
  /** Returns the host's folder in the user's home. The folder exists after the host was used. */
  folder(surroundings: Surroundings): string;
  file(scope: Scope, surroundings: Surroundings, project: string): string;
  /** Adds our hooks, or replaces them if there are any. */
  add(text: string, way: Way, known?: Known): Edit;
  /** Removes our hooks. `made`: what every `add` since the last `remove` returned. */
  remove(text: string, made: readonly string[], known?: Pick<Known, 'names'>): string;
  /**
   * Updates the user's settings (`text`) after our hooks in another file were removed or replaced. The host stores data
   * about the hooks of that file in the user's settings.
   */
  follow?(text: string, departure: Departure): string;
  /** Whether the text has no content left. */
  isBare(text: string): boolean;
  /** Returns all our hooks in the text, for comparison. If an edit would not change them, nothing is written. */
  ours?(text: string): unknown;
  /** Returns our hook for the event before a call; null: there is none. */
  installed(text: string, on?: OnPlatform): Installed | null;
  /**
   * The host loads a plugin of ours. The plugin itself denies calls if the program is missing. This cannot be tested
   * with a shell line, because the host runs none.
   */
  readonly deniesByItself?: true;
  /** Further information for the user. */
  readonly notes: readonly string[];
}

/**
 * How long a call waits for a person in a hook that is installed without `--wait`, in ms. Cline ends a run if the plugin
 * does not answer within 3 s, so there a call does not wait.
 */
export const standardWaitMs = (host: HostName): number => (host === 'cline' ? 0 : 50_000);

/**
 * Returns the time limit of a hook for the settings of its host, in seconds. It is 6 s longer than the time limit of
 * `tollgate hook`, because many hosts run the call if the hook is late, and a busy machine starts programs slowly. Null:
 * the hook names no wait.
 */
export const limitSecondsFor = (waitMs: number | null): number => 10 + (waitMs ?? 0) / 1_000;

/** Facts about a host that do not depend on the format of its settings. */
export interface HostFacts extends Pick<HostSettings, 'title' | 'programs' | 'notes'> {
  /** The environment variable that sets another folder, and the name of the standard folder in the user's home. */
  readonly home: readonly [variable: string, name: string];
  /** The path of the settings file in the folder of the host. `projectFile`: its path in a project. */
  readonly file: string;
  readonly projectFile: string;
  /** The host's name for the event before a call. */
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
