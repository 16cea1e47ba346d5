// Names the members of `_meta` that belong to the protocol and not to a call.

type Fields = Readonly<Record<string, unknown>>;

const metaKeys: ReadonlySet<string> = new Set([
  'progressToken',
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientInfo',
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/logLevel',
  'io.modelcontextprotocol/subscriptionId',
  'io.modelcontextprotocol/related-task',
]);

/** Returns the members of `_meta` that the protocol uses. */
export const protocolMeta = (meta: Fields): Fields => Object.fromEntries(Object.entries(meta).filter(([key]) => metaKeys.has(key)));

/** Returns the other members of `_meta`. */
export const otherMeta = (meta: Fields): Fields => Object.fromEntries(Object.entries(meta).filter(([key]) => !metaKeys.has(key)));
