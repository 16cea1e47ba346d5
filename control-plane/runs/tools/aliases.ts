// Maps tool names to aliases that every provider accepts, and back. If possible, an alias depends only on the name of
// its tool, so that it is the same in every round and every run.
import { createHash } from 'node:crypto';

export interface Aliases {
  /** Throws for a name that was not passed to `createAliases`. */
  aliasOf(name: string): string;
  /** Null when no tool has this alias: models invent names. */
  nameOf(alias: string): string | null;
}

const lengthMax = 64;
const hashLength = 10;
/**
 * Matches names whose alias can be converted back to the name. In such a name, the part before the dot cannot contain
 * `__`, so the first `__` in the alias replaces the dot. A name without a dot contains no `__`.
 */
const plain = /^(?:[A-Za-z0-9-]+\.[A-Za-z0-9_-]+|(?!.*__)[A-Za-z0-9_-]+)$/;

export function createAliases(names: readonly string[]): Aliases {
  const aliases = new Map<string, string>();
  const tools = new Map<string, string>();
  // Sorted, so that the result of a collision does not depend on the order of the names.
  for (const name of [...new Set(names)].sort()) {
    let alias = aliasFrom(name);
    // The name of one tool may equal the alias of another tool.
    for (let salt = 1; tools.has(alias); salt += 1) alias = hashed(name, salt);
    aliases.set(name, alias);
    tools.set(alias, name);
  }
  return {
    aliasOf: (name) => {
      const alias = aliases.get(name);
      if (alias === undefined) throw new Error('aliasOf must only be called with a name that was passed to createAliases');
      return alias;
    },
    nameOf: (alias) => tools.get(alias) ?? null,
  };
}

function aliasFrom(name: string): string {
  const alias = name.replace('.', '__');
  return plain.test(name) && alias.length <= lengthMax ? alias : hashed(name, 0);
}

function hashed(name: string, salt: number): string {
  const readable = name
    .replace('.', '__')
    .replaceAll(/[^A-Za-z0-9_-]/gu, '_')
    .slice(0, lengthMax - hashLength - 1);
  const digest = createHash('sha256')
    .update(salt === 0 ? name : `${salt}\0${name}`)
    .digest('hex');
  return `${readable}_${digest.slice(0, hashLength)}`;
}
