// Hosts that load a plugin: the whole file is ours, in a folder of the host. A file that is not ours is neither
// overwritten nor removed.
import type { HostName } from '@tollgate/proto/contract';
import { commandOf, type HostFacts, type HostSettings } from './host.ts';
import { BadSettings } from './settings-file.ts';
import { readHookLine } from './command-line.ts';
import { lineProblem } from './line-problem.ts';
import { pathsOf, platformOf } from './paths.ts';
import { commandIn } from './plugin-text.ts';

interface InOwnFile extends Omit<HostFacts, 'before' | 'home'> {
  readonly folder: HostSettings['folder'];
  /** Returns the whole content of the file. */
  readonly written: (command: string) => string;
}

export function inOwnFile(host: HostName, { written, folder, ...facts }: InOwnFile): HostSettings {
  const { title, programs, notes, file, projectFile } = facts;
  const commandOfOurs = (text: string): string | null => {
    const command = commandIn(text);
    return command !== null && readHookLine(host, command) !== null ? command : null;
  };
  return {
    title,
    programs,
    notes,
    folder,
    file: (scope, here, project) => (scope === 'user' ? pathsOf(here).join(folder(here), file) : pathsOf(here).join(project, projectFile)),
    add: (text, way) => {
      if (text !== '' && commandOfOurs(text) === null) throw new BadSettings(text, 0, 'tollgate did not write this file; rename it');
      return { text: written(commandOf(way)), made: [] };
    },
    remove: (text) => (commandOfOurs(text) === null ? text : ''),
    isBare: (text) => text === '',
    ours: (text) => (commandOfOurs(text) === null ? null : text),
    deniesByItself: true,
    installed: (text, on = {}) => {
      const command = commandOfOurs(text);
      if (command === null) return null;
      const shell = platformOf(on) === 'win32' ? 'cmd' : 'sh';
      const edited = text === written(command) ? [] : ['the file differs from what this tollgate writes; run tollgate hooks install again'];
      const line = lineProblem(host, command, shell);
      return { way: { kind: 'command', command, shell }, gaps: line === null ? edited : [...edited, line] };
    },
  };
}
