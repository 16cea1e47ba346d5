// How a place in a document is written, in problems, reasons, entries and counters alike.

const identifier = /^[A-Za-z_$][\w$]*$/;

/** `defaults.api`, `tools["github.*"].api`, `agentTypes["claude-code::api::"].api`. */
export function rulePath(section: 'defaults' | 'tools' | 'agentTypes', key: string | null, tier: string): string {
  return childPath(key === null ? section : keyedPath(section, key), tier);
}

/** `path["key"]`: for names of tools and agent types, whatever they look like. */
export const keyedPath = (path: string, key: string): string => `${path}[${JSON.stringify(key)}]`;

/** `path.key`, or `path["key"]` where the key is no identifier. */
export function childPath(path: string, key: string): string {
  if (!identifier.test(key)) return keyedPath(path, key);
  return path === '' ? key : `${path}.${key}`;
}
