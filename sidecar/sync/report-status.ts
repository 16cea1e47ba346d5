// How a sidecar is, for the people who look after it: told at once to a stream that was accepted, then whenever it has changed,
// but no oftener than every `bounds.statusMs`.
import type { Status, SyncRequest } from '@tollgate/proto';
import { bounds } from '@tollgate/proto/contract';

/** Until the returned function is called. */
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
