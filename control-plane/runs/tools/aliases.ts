// What tools are called before models: names that every provider accepts, one for each tool and back again. An alias is
// made of its tool's name alone wherever that is possible, so that it is the same in every round and every run.
import { createHash } from 'node:crypto';

export interface Aliases {
  /** Of one of the names it was made for. */
  aliasOf(name: string): string;
  /** Null for what no tool is called: models make names up. */
  nameOf(alias: string): string | null;
}

const lengthMax = 64;
const hashLength = 10;
/**
 * Names that read alike as an alias: nothing before the dot can hold `__`, so the first one in the alias is the dot, and a
 * name without a dot has none.
 */
const plain = /^(?:[A-Za-z0-9-]+\.[A-Za-z0-9_-]+|(?!.*__)[A-Za-z0-9_-]+)$/;

export function createAliases(names: readonly string[]): Aliases {
  const aliases = new Map<string, string>();
  const tools = new Map<string, string>();
  // In an order of their own: who comes first in a collision must not hang on who was asked first.
  for (const name of [...new Set(names)].sort()) {
    let alias = aliasFrom(name);
    // Somebody may call a tool what another one's alias is.
    for (let salt = 1; tools.has(alias); salt += 1) alias = hashed(name, salt);
    aliases.set(name, alias);
    tools.set(alias, name);
  }
  return {
    aliasOf: (name) => {
      const alias = aliases.get(name);
      if (alias === undefined) throw new Error('an alias of a name that none was made for');
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
