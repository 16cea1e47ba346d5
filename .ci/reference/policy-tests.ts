// The schema of docs/reference/policy-tests.md: that of the reader of test files.
import { testFileSchema } from '../../cli/policies/test-shape.ts';
import type { Page } from '../reference.ts';

export const page: Page = {
  path: 'docs/reference/policy-tests.md',
  between: 'schema',
  render: () => `\`\`\`json\n${JSON.stringify(testFileSchema, null, 2)}\n\`\`\``,
};
