// A word about a thing, in a small box: `2 hidden`. Never for text from outside.
import type { ReactNode } from 'react';
import './tag.css';

export function Tag({ children, isWarning = false }: { readonly children: ReactNode; readonly isWarning?: boolean }) {
  return <span className={isWarning ? 'tag tag-warning' : 'tag'}>{children}</span>;
}
