// Hosts that load a plugin: a whole file that is ours, in a folder of theirs. A file that is not ours is neither overwritten nor removed.
import type { HostName } from '@tollgate/proto/contract';
import { isOurCommand } from './handler.ts';
import { commandOf, type HostFacts, type HostSettings, placesOf } from './host.ts';
import { BadSettings } from './bad-settings.ts';
import { pathsOf } from './paths.ts';
import { commandIn } from './plugin-text.ts';

interface InOwnFile extends Omit<HostFacts, 'before'> {
  /** The folder's name in XDG_CONFIG_HOME, where that is set and heeded. */
  readonly inConfigHome?: string;
  /** All that is in the file. */
  readonly written: (command: string) => string;
}

export function inOwnFile(host: HostName, { written, inConfigHome, ...facts }: InOwnFile): HostSettings {
  const { title, programs, notes } = facts;
  const commandOfOurs = (text: string): string | null => {
    const command = commandIn(text);
    return command !== null && isOurCommand(host, command) ? command : null;
  };
  return {
    title,
    programs,
    notes,
    ...placesIn(facts, inConfigHome),
    add: (text, way) => {
      if (text !== '' && commandOfOurs(text) === null) throw new BadSettings(text, 0, 'it is not a file of ours; move it to another name');
      return { text: written(commandOf(way)), made: [] };
    },
    remove: (text) => (commandOfOurs(text) === null ? text : ''),
    isBare: (text) => text === '',
    ours: (text) => (commandOfOurs(text) === null ? null : text),
    deniesByItself: true,
    installed: (text) => {
      const command = commandOfOurs(text);
      if (command === null) return null;
      const gaps = text === written(command) ? [] : ['the file is not as this tollgate writes it; run tollgate hooks install again'];
      return { way: { kind: 'command', command }, gaps };
    },
  };
}

function placesIn(facts: Omit<HostFacts, 'before'>, inConfigHome: string | undefined): ReturnType<typeof placesOf> {
  const plain = placesOf({ ...facts, before: '' });
  if (inConfigHome === undefined) return plain;
  const folder: HostSettings['folder'] = (here) => {
    const config = here.env['XDG_CONFIG_HOME'];
    return config === undefined || config === '' ? plain.folder(here) : pathsOf(here).join(config, inConfigHome);
  };
  return {
    folder,
    file: (scope, here, project) => (scope === 'user' ? pathsOf(here).join(folder(here), facts.file) : plain.file(scope, here, project)),
  };
}
