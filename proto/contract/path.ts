// How a place in a document is written, in problems, reasons, entries and counters alike.

const identifier = /^[A-Za-z_$][\w$]*$/;

/** `defaults.api`, `tools["github.*"].api`, `agentTypes["claude-code::api::"].api`. */
export function rulePath(section: 'defaults' | 'tools' | 'agentTypes', key: string | null, tier: string): string {
  return childPath(key === null ? section : `${section}[${JSON.stringify(key)}]`, tier);
}

/** `path.key`, or `path["key"]` where the key is no identifier. */
export function childPath(path: string, key: string): string {
  if (!identifier.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}
