// Finds the names that hosts use for a tool, according to the workspace's own tables: the reverse mapping from our
// name. Pure.
import { broughtBy, childPath, type CompiledToolNames, type HostName, keyedPath, wildcardPrefix } from '@tollgate/proto/contract';

export interface HostsName {
  readonly host: HostName;
  readonly name: string;
  /** For example `toolNames.codex["Bash"]`, in the workspace document. */
  readonly path: string;
}

export function namesInHosts(toolNames: CompiledToolNames, tool: string): readonly HostsName[] {
  return toolNames.flatMap(([host, names]) => {
    const table = new Map(names);
    return names.flatMap(([theirs, ours]) => {
      const name = broughtFrom(theirs, ours, tool);
      // Another row may match that name more closely.
      if (name === null || broughtBy(table, name) !== tool) return [];
      return [{ host, name, path: keyedPath(childPath('toolNames', host), theirs) }];
    });
  });
}

function broughtFrom(theirs: string, ours: string, tool: string): string | null {
  const prefix = wildcardPrefix(theirs);
  if (prefix === null) return ours === tool ? theirs : null;
  const begins = wildcardPrefix(ours) ?? '';
  return begins !== '' && tool.startsWith(begins) ? prefix + tool.slice(begins.length) : null;
}
