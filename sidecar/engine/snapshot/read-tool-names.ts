// Reads what a workspace adds to the tables of the hosts' names. After a successful read, each name leads to exactly
// one name.
import { broughtNameProblem, type CompiledToolNames, hosts, nameProblem, toolNamesMax } from '@tollgate/proto/contract';
import { InvalidEntry, namedOnce, oneOf, pair, type Reader, string } from './read.ts';

export function readToolNames(value: unknown, path: string): CompiledToolNames {
  // A host that only a newer sidecar knows does not call this one, so its table has no use here. An unknown host is
  // rejected.
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
