// Import cycles: the strongly connected components of a graph of files. Called by structure.ts.

export interface Edge {
  readonly to: string;
  readonly typesOnly: boolean;
}

export type Graph = ReadonlyMap<string, readonly Edge[]>;

export interface Cycle {
  /** All files of the component, sorted: each reaches every other one. */
  readonly files: readonly string[];
  /** A shortest cycle, from its first file to that file again. */
  readonly example: readonly string[];
  /** Without type imports there is no cycle among these files. */
  readonly typesOnly: boolean;
}

export function findCycles(graph: Graph): readonly Cycle[] {
  return findComponents(graph).map((files) => {
    const loaded = new Map(files.map((file) => [file, (graph.get(file) ?? []).filter(({ typesOnly }) => !typesOnly)]));
    return { files, example: findExample(graph, files), typesOnly: findComponents(loaded).length === 0 };
  });
}

/** Components of more than one file, and files that import themselves; by Tarjan's algorithm. */
function findComponents(graph: Graph): readonly (readonly string[])[] {
  const found: (readonly string[])[] = [];
  const order = new Map<string, number>();
  const open: string[] = [];
  const visit = (file: string): number => {
    const at = order.size;
    order.set(file, at);
    let low = at;
    open.push(file);
    for (const { to } of graph.get(file) ?? []) {
      if (!graph.has(to)) continue;
      if (!order.has(to)) low = Math.min(low, visit(to));
      else if (open.includes(to)) low = Math.min(low, order.get(to) ?? low);
    }
    if (low === at) {
      const files = open.splice(open.indexOf(file)).toSorted();
      const importsItself = (graph.get(file) ?? []).some(({ to }) => to === file);
      if (files.length > 1 || importsItself) found.push(files);
    }
    return low;
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return found.toSorted((one, other) => other.length - one.length);
}

function findExample(graph: Graph, files: readonly string[]): readonly string[] {
  const [start = ''] = files;
  const within = new Set(files);
  const reached = new Set<string>();
  let ways: (readonly string[])[] = [[start]];
  while (ways.length > 0) {
    const next: (readonly string[])[] = [];
    for (const way of ways) {
      for (const { to } of graph.get(way.at(-1) ?? '') ?? []) {
        if (to === start) return [...way, to];
        if (!within.has(to) || reached.has(to)) continue;
        reached.add(to);
        next.push([...way, to]);
      }
    }
    ways = next;
  }
  throw new Error(`${start} reaches itself by no import`);
}
