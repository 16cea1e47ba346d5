// A message that must not be overlooked: what is wrong, or what a reader may not expect.
import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import css from './notice.module.css';

interface NoticeProps {
  /** `deny`: something failed or is stopped. `limit`: something is not as it should be. */
  readonly tone: 'deny' | 'limit';
  readonly title: string;
  readonly role?: 'alert' | 'status' | 'note';
  readonly children?: ReactNode;
}

export function Notice({ tone, title, role = 'note', children }: NoticeProps) {
  return (
    <div className={css.notice} data-tone={tone} role={role}>
      <Text size="sm" fw={650} className={css.title}>
        {title}
      </Text>
      {children}
    </div>
  );
}
