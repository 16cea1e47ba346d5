// Stops a paused stream of Node from reading ahead. By default, it continues to read until sixteen messages wait in it.
// With messages of 2 MB this is much memory, and it is not counted.
import type { Readable } from 'node:stream';

/**
 * Changes the stream: while it is paused, it reads nothing more, except one message whose reading had already begun.
 */
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
