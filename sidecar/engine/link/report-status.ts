// Reports the status of a sidecar for operators: at once on an accepted stream, then whenever it has changed, but at
// most once every `bounds.statusMs`.
import type { Status, SyncRequest } from '@tollgate/proto';
import { bounds } from '@tollgate/proto/contract';

/** Reports until the returned function is called. */
export function reportStatus(read: () => Status, write: (request: SyncRequest) => void): () => void {
  let told = '';
  const tell = (): void => {
    const status = read();
    const text = JSON.stringify(status);
    if (text === told) return;
    told = text;
    write({ status });
  };
  tell();
  const timer = setInterval(tell, bounds.statusMs);
  timer.unref();
  return () => clearInterval(timer);
}
