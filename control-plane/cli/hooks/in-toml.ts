// Hosts whose hooks stand in a TOML file, in a block of our own.
import type { HostName } from '@tollgate/proto/contract';
import { gapsIn, isOurCommand } from './handler.ts';
import { commandOf, type HostFacts, type HostSettings, placesOf, timeoutSeconds } from './host.ts';
import { addBlock, eventIn, quoteToml, removeBlock } from './settings-toml.ts';

interface InToml extends HostFacts {
  readonly events: readonly string[];
}

export function inToml(host: HostName, { events, ...facts }: InToml): HostSettings {
  const { title, programs, notes, before } = facts;
  return {
    title,
    programs,
    notes,
    ...placesOf(facts),
    add: (text, way) => ({
      text: addBlock(
        text,
        events.flatMap((event) => [
          `[[hooks.${event}]]`,
          `[[hooks.${event}.hooks]]`,
          'type = "command"',
          `command = ${quoteToml(commandOf(way))}`,
          `timeout = ${timeoutSeconds}`,
        ]),
      ),
      made: [],
    }),
    remove: removeBlock,
    isBare: (text) => text.trim() === '',
    installed: (text) => {
      const event = eventIn(text, before);
      const command = unquoteToml(event?.get('command') ?? '');
      if (event === null || command === null || !isOurCommand(host, command)) return null;
      const [matcher, beside] = [event.get('matcher'), event.get('async') === 'true'];
      const gaps = gapsIn({ matcher: matcher === undefined ? undefined : (unquoteToml(matcher) ?? matcher), async: beside });
      return { way: { kind: 'command', command }, gaps };
    },
  };
}

function unquoteToml(text: string): string | null {
  if (/^'[^']*'$/.test(text)) return text.slice(1, -1);
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}
