// Checks that the parser has seen each expansion of a line: every `$(`, `${`, `$x`, backtick, `<(` and `>(` is one that it
// shows, or is quoted. So a form that it does not know cannot hide a command in an expansion.
import type { SyntaxNode } from 'unbash';

/** The expansions of one line, and its quoted texts. */
export class Expansions {
  readonly #line: string;
  /** 1: the character is the beginning or the end of an expansion that was seen, or it is quoted. */
  readonly #seen: Uint8Array;

  constructor(line: string) {
    this.#line = line;
    this.#seen = new Uint8Array(line.length);
  }

  /** Notes a node of the line. */
  see(node: SyntaxNode): void {
    switch (node.type) {
      case 'CommandExpansion':
      case 'ProcessSubstitution':
      case 'ArithmeticExpansion':
      case 'ArithmeticCommandExpansion':
      case 'ParameterExpansion':
        this.#seen[node.pos] = 1;
        // The second backtick.
        this.#seen[node.end - 1] = 1;
        return;
      case 'SingleQuoted':
      case 'AnsiCQuoted':
      case 'SimpleExpansion':
        this.#seen.fill(1, node.pos, node.end);
        return;
      case 'HereDoc':
        if (node.delimiter?.quoted === true) this.#seen.fill(1, node.body.pos, node.body.end);
        return;
      case 'DoubleQuoted':
      case 'LocaleString':
      case 'HereDocBody':
        for (const { type, pos, end } of node.parts ?? [{ type: 'Literal', pos: node.pos, end: node.end }])
          if (type === 'Literal') this.#seeSigns(pos, end);
        return;
      default:
        return;
    }
  }

  /** `<(` and `>(` are text between double quotes, and in a here-document. */
  #seeSigns(pos: number, end: number): void {
    for (let at = pos; at < end; at += 1) if (this.#line[at] === '<' || this.#line[at] === '>') this.#seen[at] = 1;
  }

  /** Whether all expansions of the line were seen. A comment that contains one is not known to be a comment. */
  areAllSeen(): boolean {
    for (const { index } of this.#line.matchAll(/\$[\w({[@*#?!$-]|`|[<>]\(/g))
      if (this.#seen[index] === 0 && !this.#isEscaped(index)) return false;
    return true;
  }

  #isEscaped(at: number): boolean {
    let backslashes = 0;
    while (this.#line[at - 1 - backslashes] === '\\') backslashes += 1;
    return backslashes % 2 === 1;
  }
}
