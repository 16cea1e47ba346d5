// Says that the control plane is not connected. The stream is opened again by itself.
import { Alert } from '@mantine/core';
import type { StreamState } from '../api/stream.ts';

export function Lost({ state }: { readonly state: StreamState }) {
  if (state !== 'lost') return null;
  return (
    <Alert color="orange" variant="light" role="status" mb="md">
      The connection is lost. What you see may be old; it is opened again by itself.
    </Alert>
  );
}
