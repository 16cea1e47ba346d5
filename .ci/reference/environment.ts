// docs/reference/environment.md: the variables of both programs, by their schemas.
import { configTable } from '@tollgate/proto/contract';
import { configSchema } from '../../control-plane/app/config.ts';
import { sidecarSchema } from '../../sidecar/app/config.ts';
import type { Page } from '../reference.ts';

export const page: Page = {
  path: 'docs/reference/environment.md',
  between: 'variables',
  render: () => {
    const parts = ['## Control plane', configTable(configSchema), '## Sidecar process', configTable(sidecarSchema)];
    // Links of the schemas begin at the root of the repository.
    return parts.join('\n\n').replaceAll('](docs/', '](../');
  },
};
