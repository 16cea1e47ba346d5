// Finds the servers that a name in a combined list may belong to. agentgateway prefixes a name with its target and `_`
// if there are several targets, or always, or never (`prefixMode`), and does not report which. Therefore a list is
// interpreted by its names. A name with two interpretations is checked under both.

/** A name in the form of the policy: `<server>.<name>`. */
export interface Reading {
  readonly server: string;
  readonly name: string;
}

/** The readings of each name of one list, in its order. */
export function readNames(names: readonly (string | null)[], servers: readonly string[]): readonly (readonly Reading[])[] {
  const arePrefixed = names.every((name) => name !== null && prefixesOf(name, servers).length > 0);
  return names.map((name) => {
    if (name === null) return [];
    const prefixing = prefixesOf(name, servers);
    // A server's own names may begin with its target's name: `slack_post` of the target `slack`. With several targets,
    // names without a prefix mean `prefixMode: never`, and any of the targets may have them.
    return [
      ...prefixing.map((server) => ({ server, name: name.slice(server.length + 1) })),
      ...(arePrefixed ? prefixing : servers).map((server) => ({ server, name })),
    ];
  });
}

const prefixesOf = (name: string, servers: readonly string[]): readonly string[] =>
  servers.filter((server) => name.startsWith(`${server}_`));

/** The only possible server of each name. Null: there are several, or there are none. */
export const ownersOfNames = (names: readonly (string | null)[], servers: readonly string[]): readonly (string | null)[] =>
  readNames(names, servers).map((readings) => onlyOne(readings.map(({ server }) => server)));

/** The owner of a URI. With several targets each URI has the prefix `<target>+`, except `ui://` URIs. */
export const ownerOfUri = (uri: string | null, servers: readonly string[]): string | null =>
  onlyOne(servers.filter((server) => uri?.startsWith(`${server}+`) === true));

function onlyOne(servers: readonly string[]): string | null {
  const [first = null, ...others] = new Set(servers);
  return others.length === 0 ? first : null;
}
