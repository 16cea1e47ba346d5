// Reads the fields of one protobuf message in place, without an object for each field. The fields are read in the order
// in which they were written. Throws a RangeError if the bytes are not a message.
export class WireReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;
  /** The number of the field. */
  field = 0;
  /** The value, if the field is a number. Above 2^53, it is not exact. */
  value = 0;
  /** Where the value begins and ends, if the field is a text, bytes or a message. Both 0: it is none of these. */
  from = 0;
  to = 0;

  constructor(bytes: Buffer, from = 0, to = bytes.length) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = to;
  }

  /** Moves to the next field. False: there are no more fields. */
  next(): boolean {
    if (this.#at === this.#end) return false;
    const tag = this.#readNumber();
    this.field = Math.floor(tag / 8);
    this.value = this.from = this.to = 0;
    const type = tag % 8;
    if (type === 0) this.value = this.#readNumber();
    else if (type === 1) this.#skip(8);
    else if (type === 5) this.#skip(4);
    else if (type === 2) {
      const length = this.#readNumber();
      this.from = this.#at;
      this.#skip(length);
      this.to = this.#at;
    } else throw new RangeError(`a field of wire type ${type} cannot be read`);
    return true;
  }

  #skip(length: number): void {
    this.#at += length;
    if (this.#at > this.#end) throw new RangeError('a field ends after its message');
  }

  #readNumber(): number {
    let value = 0;
    for (let scale = 1; this.#at < this.#end && scale < 2 ** 70; scale *= 128) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new RangeError('a number has no end');
  }
}
