// Which server a name in a gathered list may be of. agentgateway puts a target's name and `_` in front where there are several targets, or
// always, or never (`prefixMode`), and does not say which: a list is read by the names in it. What is read in two ways is looked at in both.

/** A name as policy may know it: `<server>.<name>`. */
export interface Reading {
  readonly server: string;
  readonly name: string;
}

/** Of each name of one list, in its order. */
export function readNames(names: readonly (string | null)[], servers: readonly string[]): readonly (readonly Reading[])[] {
  const arePrefixed = names.every((name) => name !== null && prefixesOf(name, servers).length > 0);
  return names.map((name) => {
    if (name === null) return [];
    const prefixing = prefixesOf(name, servers);
    // A server's own names may begin with its target's: `slack_post` of the target `slack`. Among several targets, names without one in front
    // mean `prefixMode: never`: any of them may have it.
    return [
      ...prefixing.map((server) => ({ server, name: name.slice(server.length + 1) })),
      ...(arePrefixed ? prefixing : servers).map((server) => ({ server, name })),
    ];
  });
}

const prefixesOf = (name: string, servers: readonly string[]): readonly string[] =>
  servers.filter((server) => name.startsWith(`${server}_`));

/** The only server that each name can be of; null: there are several. */
export const ownersOfNames = (names: readonly (string | null)[], servers: readonly string[]): readonly (string | null)[] =>
  readNames(names, servers).map((readings) => onlyOne(readings.map(({ server }) => server)));

/** The same of URIs, which have `<target>+` in front wherever there are several targets, but those of `ui://`. */
export const ownerOfUri = (uri: string | null, servers: readonly string[]): string | null =>
  onlyOne(servers.filter((server) => uri?.startsWith(`${server}+`) === true));

function onlyOne(servers: readonly string[]): string | null {
  const [first = null, ...others] = new Set(servers);
  return others.length === 0 ? first : null;
}
