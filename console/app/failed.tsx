// What is shown where a page fails, or does not exist.
import { Container } from '@mantine/core';
import { Link, useRouteError } from 'react-router';
import { Empty, Refused } from '../parts/states.tsx';

export function Failed() {
  const error = useRouteError();
  return (
    <Container py="xl">
      <Refused
        error={error instanceof Error ? error : new Error(String(error))}
        what="This page failed"
        // A page whose file is missing was built by a later version: the whole console is loaded again.
        retry={() => location.reload()}
      />
    </Container>
  );
}

export function NotFound() {
  return (
    <Empty title="There is no such page" order={1}>
      <Link to="/">Go to the overview</Link>
    </Empty>
  );
}
