import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import LongestFirst from './test/support/longest-first.ts';

// Tests run on the sources, so that a failure points at the line that was written;
// e2e, chaos and kills start the built programs, as a user does.
const source = { resolve: { conditions: ['tollgate-source'] }, ssr: { resolve: { conditions: ['tollgate-source'] } } };

// Many files wait for a database or for other programs, so one file more than there are cores keeps the cores busy. More than six
// would take the connections of the one PostgreSQL.
const maxWorkers = Math.min(6, availableParallelism() + 1);

// Nothing of ours works on import or keeps state of its own, so files share what they import: a control plane takes two
// seconds to load, which is longer than most files take.
const isolate = false;

// Each test here has several processes of its own, which keep two cores busy.
const ofPrograms = {
  isolate,
  testTimeout: 120_000,
  hookTimeout: 120_000,
  globalSetup: ['test/support/build.ts'],
};

// Kills at random under load: only where CI, or a person, says how many by TOLLGATE_TEST_KILLS. Alone, since the load is to
// meet the kills and no other test.
const kills = {
  ...source,
  test: {
    ...ofPrograms,
    name: 'kills',
    include: ['test/chaos/kills.test.ts'],
    fileParallelism: false,
    sequence: { groupOrder: 3 },
  },
};

// Where real time is measured: only where TOLLGATE_TEST_LONG is set, as `npm run test:long` does. One file at a time.
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

// The frameworks whose tools the library governs: only where they are installed, by test/frameworks/run.
const frameworks = {
  ...source,
  test: {
    name: 'frameworks',
    include: ['test/frameworks/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    sequence: { groupOrder: 4 },
  },
};

export default defineConfig({
  test: {
    reporters: ['default', './test/support/missing-programs.ts'],
    globalSetup: ['test/support/temporary-folder.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        ...source,
        test: {
          name: 'unit',
          maxWorkers,
          isolate,
          sequence: { groupOrder: 1 },
          // All that belongs to no other project. Not by `exclude`, which would win over the one of a command line.
          include: [
            'test/*.test.ts',
            'test/!(store|control-plane|cli|spec|e2e|trust|chaos|console|long|frameworks)/**/*.test.ts',
            'test/console/unit/*.test.ts',
          ],
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
          ...ofPrograms,
          name: 'e2e',
          include: ['test/{e2e,trust}/**/*.test.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        ...source,
        test: {
          ...ofPrograms,
          name: 'chaos',
          include: ['test/chaos/!(kills).test.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        ...source,
        test: {
          ...ofPrograms,
          name: 'console',
          include: ['test/console/*.test.ts'],
          globalSetup: ['test/support/build.ts', 'test/support/build-console.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      ...(process.env['TOLLGATE_TEST_KILLS'] === undefined ? [] : [kills]),
      ...(process.env['TOLLGATE_TEST_FRAMEWORKS'] === undefined ? [] : [frameworks]),
      ...(process.env['TOLLGATE_TEST_LONG'] === undefined ? [] : [long]),
    ],
  },
});
