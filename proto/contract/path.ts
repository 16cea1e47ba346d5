// Defines how a place in a document is written, in problems, reasons, entries and counters.

const identifier = /^[A-Za-z_$][\w$]*$/;

/** Returns the path of a rule: `defaults.api`, `tools["github.*"].api`, `agentTypes["claude-code::api::"].api`. */
export function rulePath(section: 'defaults' | 'tools' | 'agentTypes', key: string | null, tier: string): string {
  return childPath(key === null ? section : keyedPath(section, key), tier);
}

/** Returns `path["key"]`. It is for names of tools and agent types, which may contain any characters. */
export const keyedPath = (path: string, key: string): string => `${path}[${JSON.stringify(key)}]`;

/** Returns `path.key`, or `path["key"]` if the key is not an identifier. */
export function childPath(path: string, key: string): string {
  if (!identifier.test(key)) return keyedPath(path, key);
  return path === '' ? key : `${path}.${key}`;
}
