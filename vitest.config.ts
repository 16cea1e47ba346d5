import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Tests run on the sources, so that a failure points at the line that was written;
// the e2e project starts the built programs, as a user does.
const source = { resolve: { conditions: ['tollgate-source'] }, ssr: { resolve: { conditions: ['tollgate-source'] } } };

// Most files wait for a database or for other programs, so two at a time are quicker on two cores as well.
const maxWorkers = Math.max(2, availableParallelism() - 1);

// Nothing of ours works on import or keeps state of its own, so files share what they import: a control plane takes two
// seconds to load, which is longer than most files take.
const isolate = false;

// Where real time is measured (test/long): a project of its own, which is there only where it is asked for, since a plain run takes all.
const long = {
  ...source,
  test: {
    name: 'long',
    include: ['test/long/**/*.test.ts'],
    globalSetup: ['test/support/postgres.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    sequence: { groupOrder: 4 },
  },
};

export default defineConfig({
  test: {
    reporters: ['default', './test/support/missing-programs.ts'],
    projects: [
      {
        ...source,
        test: {
          name: 'unit',
          maxWorkers,
          isolate,
          sequence: { groupOrder: 1 },
          // Whatever is nobody else's. Not by `exclude`, which would win over the one of a command line.
          include: ['test/*.test.ts', 'test/!(store|control-plane|cli|spec|e2e|chaos|long)/**/*.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...source,
        test: {
          name: 'store',
          maxWorkers,
          isolate,
          sequence: { groupOrder: 1 },
          include: ['test/store/**/*.test.ts', 'test/control-plane/**/*.test.ts', 'test/cli/**/*.test.ts', 'test/spec/**/*.test.ts'],
          globalSetup: ['test/support/postgres.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...source,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers,
          sequence: { groupOrder: 2 },
        },
      },
      {
        ...source,
        test: {
          name: 'chaos',
          include: ['test/chaos/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // What happens within a second or two must not wait for a neighbour.
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
      ...(process.env['TOLLGATE_TEST_LONG'] === undefined ? [] : [long]),
    ],
  },
});
