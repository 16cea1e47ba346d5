// The title of the browser's tab.
import { useEffect } from 'react';

export function useTitle(name: string): void {
  useEffect(() => {
    document.title = `${name} · Tollgate`;
  }, [name]);
}
