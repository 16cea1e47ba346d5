// The table of docs/reference/conditions.md: the conformance cases of the CEL project, by file.
import { conformanceTable, runConformance } from '../../test/sidecar/engine/conditions/conformance.ts';
import type { Page } from '../reference.ts';

export const page: Page = {
  path: 'docs/reference/conditions.md',
  between: 'conformance',
  render: () => conformanceTable(runConformance()),
};
