// A live stream of the control plane (server-sent events). The browser connects again by itself after a lost connection,
// and continues after the last event. After a refusal it does not: then the stream is opened again here, at growing
// intervals. While its tab is hidden there is no stream: browsers open at most six connections to a host over HTTP/1.1, and
// those of a few tabs would leave none for requests.
import { useEffect, useRef, useState } from 'react';

export type StreamState = 'connecting' | 'live' | 'lost';

const retryMs = { first: 1_000, max: 30_000 };

/**
 * Calls `onData` with the data of each event named `event`. `url`: null: no stream. `onOpen` is called at each new
 * connection, when events may have been missed if `again`.
 */
export function useStream(
  url: string | null,
  event: string,
  onData: (data: string) => void,
  onOpen: (again: boolean) => void = () => undefined,
): StreamState {
  const [state, setState] = useState<StreamState>('connecting');
  const handlers = useRef({ onData, onOpen });
  useEffect(() => {
    handlers.current = { onData, onOpen };
  });
  useEffect(() => {
    if (url === null) return undefined;
    let source: EventSource | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let wait = retryMs.first;
    let again = false;
    const close = (): void => {
      clearTimeout(timer);
      source?.close();
    };
    const open = (): void => {
      close();
      source = new EventSource(url);
      source.addEventListener('open', () => {
        wait = retryMs.first;
        setState('live');
        handlers.current.onOpen(again);
        again = true;
      });
      source.addEventListener('error', () => {
        setState('lost');
        if (source?.readyState !== EventSource.CLOSED) return;
        timer = setTimeout(open, wait);
        wait = Math.min(wait * 2, retryMs.max);
      });
      source.addEventListener(event, ({ data }: MessageEvent<string>) => handlers.current.onData(data));
    };
    const follow = (): void => (document.hidden ? close() : open());
    follow();
    document.addEventListener('visibilitychange', follow);
    return () => {
      document.removeEventListener('visibilitychange', follow);
      close();
    };
  }, [url, event]);
  return state;
}
