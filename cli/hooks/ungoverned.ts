// Finds coding agents on this machine that cannot have hooks of ours. Their calls are governed in another way, or not
// governed.
import { type Here } from './records.ts';
import { findProgram, isThere } from './host-version.ts';
import { pathsOf } from './paths.ts';

interface Agent {
  readonly title: string;
  readonly programs: readonly string[];
  /** Its path in the user's home. */
  readonly folder: readonly string[];
}

const agents: readonly Agent[] = [
  { title: 'Windsurf', programs: ['windsurf'], folder: ['.codeium', 'windsurf'] },
  { title: 'Aider', programs: ['aider'], folder: ['.aider'] },
  { title: 'Qwen Code', programs: ['qwen'], folder: ['.qwen'] },
];

export const ungovernedTitles: readonly string[] = agents.map(({ title }) => title);

export interface Ungoverned {
  readonly title: string;
  readonly found: string;
}

export async function findUngoverned(here: Here): Promise<readonly Ungoverned[]> {
  const seen = await Promise.all(
    agents.map(async ({ title, programs, folder }) => {
      const path = pathsOf(here).join(here.home, ...folder);
      const found = (await isThere(path)) ? path : await findProgram(here, programs);
      return found === null ? [] : [{ title, found }];
    }),
  );
  return seen.flat();
}
