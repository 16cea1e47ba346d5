// Parses the command line of `npm run test:hosts`.
import { type CheckName, checkNames, isCheck } from './checks.ts';
import type { Driver } from './driver.ts';
import { drivers } from './drivers/index.ts';

export type HostArguments =
  | { readonly kind: 'run'; readonly drivers: readonly Driver[]; readonly checks: readonly CheckName[]; readonly write: boolean }
  | { readonly kind: 'refused'; readonly problem: string };

/** Names of hosts and checks, in any order; without a name of one kind, all of that kind are selected. */
export function readArguments(words: readonly string[]): HostArguments {
  const names = words.filter((word) => word !== '--write');
  const hosts = drivers.filter(({ host }) => names.includes(host));
  const checks = checkNames.filter((name) => names.includes(name));
  const unknown = names.filter((name) => !isCheck(name) && drivers.every(({ host }) => host !== name));
  if (unknown.length > 0) {
    const known = [...drivers.map(({ host }) => host), ...checkNames].join(', ');
    return { kind: 'refused', problem: `test:hosts knows nothing of ${unknown.join(', ')}: it has ${known}, and takes --write` };
  }
  return {
    kind: 'run',
    drivers: hosts.length === 0 ? drivers : hosts,
    checks: checks.length === 0 ? checkNames : checks,
    write: names.length < words.length,
  };
}
