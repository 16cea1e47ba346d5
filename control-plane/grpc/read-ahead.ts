// A stream of Node that is paused reads on until sixteen messages wait in it. Of messages of 2 MB that is much, and none of it is counted.
import type { Readable } from 'node:stream';

/** From now on what is paused reads nothing more, but for one message that it may have begun to read before. */
export function readOnlyWhileFlowing(stream: Pick<Readable, '_read' | 'isPaused' | 'on'>): void {
  const read = stream._read.bind(stream);
  let isDue = false;
  stream._read = (size) => {
    if (stream.isPaused()) isDue = true;
    else read(size);
  };
  stream.on('resume', () => {
    if (!isDue || stream.isPaused()) return;
    isDue = false;
    read(1);
  });
}
