// Reads what a workspace adds to the tables of the hosts' names: what passes brings each name to one name.
import { broughtNameProblem, type CompiledToolNames, hosts, nameProblem, toolNamesMax } from '@tollgate/proto/contract';
import { InvalidEntry, namedOnce, oneOf, pair, type Reader, string } from './read.ts';

export function readToolNames(value: unknown, path: string): CompiledToolNames {
  // A host that only a newer sidecar knows is none that this one is asked by, but its name would be no surprise to drop.
  const known: Reader<CompiledToolNames[number]> = pair(oneOf(...hosts), names);
  return namedOnce(known)(value, path).map(([host, table]) => [oneOf(...hosts)(host, path), table] as const);
}

const brought: Reader<readonly [string, string]> = (value, path) => {
  const [theirs, ours] = pair(string, string)(value, path);
  const wrong = nameProblem(theirs) ?? broughtNameProblem(theirs, ours);
  if (wrong !== null) throw new InvalidEntry(`${path}: ${wrong}`);
  return [theirs, ours];
};

const names: Reader<CompiledToolNames[number][1]> = (value, path) => {
  if (Array.isArray(value) && value.length > toolNamesMax)
    throw new InvalidEntry(`${path}: must hold at most ${toolNamesMax}, holds ${value.length}`);
  return namedOnce(brought)(value, path);
};
