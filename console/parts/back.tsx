// The link above a page that belongs to a list: back to that list.
import { Anchor } from '@mantine/core';
import { Link } from 'react-router';

/** `list`: the name of the list's page, such as `Agents`. */
export const Back = ({ to, list }: { readonly to: string; readonly list: string }) => (
  <Anchor component={Link} to={to} size="sm" w="fit-content">
    ← {list}
  </Anchor>
);
