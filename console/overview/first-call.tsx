// What leads from an empty workspace to its first governed call.
import { Text } from '@mantine/core';
import { firstCall } from '../live/no-calls.tsx';
import { Empty } from '../parts/states.tsx';

export function FirstCall() {
  return (
    <Empty title="No call was decided in the last hour" command={firstCall(location.origin)}>
      <Text>
        Any key with the scope govern makes one: <code>KEY=$(tollgate keys create agents --scope govern)</code>. This page shows the call as
        soon as it is decided.
      </Text>
    </Empty>
  );
}
