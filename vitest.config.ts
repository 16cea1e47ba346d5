import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Tests run on the sources, so that a failure points at the line that was written;
// the e2e project starts the built programs, as a user does.
const source = { resolve: { conditions: ['tollgate-source'] }, ssr: { resolve: { conditions: ['tollgate-source'] } } };

// Most files wait for a database or for other programs, so two at a time are quicker on two cores as well.
const maxWorkers = Math.max(2, availableParallelism() - 1);

export default defineConfig({
  test: {
    reporters: ['default'],
    projects: [
      {
        ...source,
        test: {
          name: 'unit',
          maxWorkers,
          sequence: { groupOrder: 1 },
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**', 'test/store/**', 'test/control-plane/**', 'test/cli/**', 'test/spec/**', 'test/chaos/**'],
          testTimeout: 30_000,
        },
      },
      {
        ...source,
        test: {
          name: 'store',
          maxWorkers,
          sequence: { groupOrder: 2 },
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
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
      {
        ...source,
        test: {
          name: 'chaos',
          include: ['test/chaos/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          sequence: { groupOrder: 4 },
        },
      },
    ],
  },
});
