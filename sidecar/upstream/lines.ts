// Splits the output of a program into lines. A line may arrive in any number of pieces and is copied once. If a line
// exceeds the limit, reading ends with an error, and no more of the line is stored.

export class LineTooLong extends Error {
  override readonly name = 'LineTooLong';
}

const newline = 0x0a;

/** Yields lines without their line ends. Blank lines are skipped, and text after the last line end is not a line. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      const end = chunk.subarray(from, at);
      if (bytes + end.length > bytesMax) throw new LineTooLong();
      const line = held.length === 0 ? end : Buffer.concat([...held, end]);
      held = [];
      bytes = 0;
      from = at + 1;
      if (!isBlank(line)) yield line;
    }
    const rest = chunk.subarray(from);
    bytes += rest.length;
    if (bytes > bytesMax) throw new LineTooLong();
    if (rest.length > 0) held.push(rest);
  }
}

const isBlank = (line: Uint8Array): boolean => line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
