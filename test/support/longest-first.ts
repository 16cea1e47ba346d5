// The order of test files: within a project, long ones come first, so that no worker still runs a long one alone at the
// end. vitest.config.ts names it as the sequencer. vitest itself knows durations only from an earlier run on the same
// machine.
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Seconds on two cores, of files that take more than eight. A wrong order costs only time. */
export const longFiles: Readonly<Record<string, number>> = {
  'test/chaos/approvals-killed.test.ts': 50,
  'test/chaos/database.test.ts': 26,
  'test/chaos/runs-killed.test.ts': 26,
  'test/chaos/alerts.test.ts': 20,
  'test/chaos/audit-export.test.ts': 18,
  'test/chaos/runs-drained.test.ts': 16,
  'test/chaos/two-planes.test.ts': 14,
  'test/chaos/session-killed.test.ts': 12,
  'test/chaos/outage.test.ts': 11,
  'test/chaos/full-disk.test.ts': 13,
  'test/chaos/remote.test.ts': 12,
  'test/chaos/runs-frozen.test.ts': 12,
  'test/e2e/policy-templates.test.ts': 24,
  'test/trust/attacks.test.ts': 23,
  'test/trust/folders.test.ts': 12,
  'test/e2e/programs.test.ts': 22,
  'test/e2e/runs.test.ts': 12,
  'test/e2e/backup.test.ts': 11,
  'test/e2e/telemetry.test.ts': 11,
  'test/e2e/demo.test.ts': 10,
  'test/store/embedded/killed.test.ts': 29,
  'test/store/embedded/running.test.ts': 24,
  'test/store/embedded/binaries.test.ts': 13,
  'test/store/embedded/failures.test.ts': 12,
  'test/control-plane/walk.test.ts': 80,
  'test/control-plane/statistics/counts.test.ts': 38,
  'test/control-plane/shapes.test.ts': 32,
  'test/control-plane/stalled-sidecar.test.ts': 15,
  'test/control-plane/audit-stream.test.ts': 16,
  'test/control-plane/restore.test.ts': 12,
  'test/control-plane/audit-export.test.ts': 11,
  'test/control-plane/tool-servers.test.ts': 11,
  'test/control-plane/audit-download.test.ts': 10,
  'test/control-plane/audit-chain.test.ts': 9,
  'test/control-plane/policy-history.test.ts': 9,
  'test/cli/doctor.test.ts': 56,
  'test/redact/worst.test.ts': 14,
  'test/semantics/case-properties.test.ts': 85,
  'test/semantics/properties.test.ts': 71,
  'test/semantics/mutants.test.ts': 30,
  'test/semantics/simulate.test.ts': 14,
  'test/sidecar/upstream/proxied.test.ts': 11,
  'test/runs/toolbox.test.ts': 10,
  'test/sidecar/engine/redact/own-pattern.test.ts': 8,
};

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification): number => longFiles[relative(this.ctx.config.root, moduleId)] ?? 0;
    // By group, by project, and by this machine's earlier runs: that order holds for all other files.
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) =>
      sorted.filter((file) => file.project === project).toSorted((one, other) => seconds(other) - seconds(one)),
    );
  }
}
