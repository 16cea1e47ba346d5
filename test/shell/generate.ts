// Generates lines of bash from a seed: half by a grammar, half by changing lines that agents send. Most are valid, many
// are odd, and some are broken.
import { randomFrom } from '../support/random.ts';
import { agentLines } from './agent-lines.ts';
import { expansions, fragments, names, plain, quoted, redirects } from './fragments.ts';

export function* generateLines(seed: number): Generator<string> {
  const source = new Source(randomFrom(seed));
  for (;;) yield source.line();
}

class Source {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  line(): string {
    if (this.#chance(0.5)) return this.#list(3);
    let line = this.#pick(agentLines);
    for (let changes = this.#below(4); changes > 0; changes -= 1) line = this.#changed(line);
    return line;
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#below(from.length)] as T;
  }

  #many(max: number, make: () => string, between = ' '): string {
    return Array.from({ length: this.#below(max + 1) }, make).join(between);
  }

  #list(depth: number): string {
    const statements = Array.from({ length: 1 + this.#below(2) }, () => this.#statement(depth));
    return statements
      .map((statement, at) =>
        at < statements.length - 1
          ? statement + (statement.endsWith('\n') ? '' : this.#pick([';', '; ', ' & ', '\n', ' && ', ' || ', ' | ', ' |& ', '&&', '|']))
          : statement,
      )
      .join('');
  }

  #statement(depth: number): string {
    if (depth <= 0 || this.#chance(0.55)) return this.#simple(depth);
    const inner = (): string => this.#list(depth - 1);
    const ended = (): string => {
      const list = inner();
      return list.endsWith('\n') ? list : `${list}${this.#pick(['; ', '\n', ' & '])}`;
    };
    const made = this.#pick<() => string>([
      () => `{ ${ended()}}`,
      () => `(${inner()})`,
      () => `( ${ended()})`,
      () => `if ${ended()}then ${ended()}${this.#chance(0.5) ? `else ${ended()}` : ''}fi`,
      () => `for f in ${this.#many(3, () => this.#word(depth - 1))}; do ${ended()}done`,
      () => `until ${this.#simple(0)}; do ${ended()}break; done`,
      () =>
        `case ${this.#word(depth - 1)} in ${this.#pick(['(', ''])}${this.#pick(['a', '*', "'b'", 'a|b', '$x'])}) ${inner()}${this.#pick([';;', '\n;;', ';&', ';;&'])} esac`,
      () => `[[ ${this.#word(depth - 1)} ${this.#pick(['==', '=~', '!=', '<', '-nt'])} ${this.#word(depth - 1)} ]]`,
      () => `[[ ${this.#pick(['-n', '-z', '-f', '!'])} ${this.#word(depth - 1)} ${this.#pick(['', `&& ${this.#word(0)}`])} ]]`,
      () =>
        `${this.#simple(depth - 1)} <<${this.#pick(['EOF', "'EOF'", '"EOF"', '\\EOF', '-EOF'])}\n${this.#many(3, () => this.#pick([this.#word(depth - 1), `\t${this.#simple(0)}`, 'it\'s "x', 'EO', ' EOF', 'EOF x', 'a)', '}', '\\', '`']), '\n')}\nEOF\n`,
      () => `! ${this.#simple(depth - 1)}`,
      () => `time ${this.#pick(['', '-p '])}${this.#simple(depth - 1)}`,
      () => `(( ${this.#pick(['1 + 2', '1', '$(curl x)', 'x', '(1)'])} ))`,
      () => `((${inner()}); ${inner()})`,
    ])();
    return this.#chance(0.2) && !made.endsWith('\n') ? `${made} ${this.#pick(redirects)}` : made;
  }

  #simple(depth: number): string {
    const assignments = this.#chance(0.15)
      ? `${this.#pick(['x', 'X', 'x+', 'LANG'])}=${this.#chance(0.8) ? this.#word(depth) : '(a b)'} `
      : '';
    const redirect = this.#chance(0.15) ? `${this.#pick(redirects)} ` : '';
    const words = this.#many(3, () => (this.#chance(0.12) ? this.#pick(redirects) : this.#word(depth)));
    return `${redirect}${assignments}${this.#name(depth)}${words === '' ? '' : ` ${words}`}`;
  }

  #name(depth: number): string {
    const name = this.#pick(names);
    const cut = this.#below(name.length + 1);
    const [before, after] = [name.slice(0, cut), name.slice(cut)];
    return this.#pick([
      name,
      name,
      name,
      name,
      `"${name}"`,
      `'${name}'`,
      `\\${name}`,
      `${before}"${after}"`,
      `${before}'${after}'`,
      `${before}\\\n${after}`,
      `${before}""${after}`,
      `$'${name}'`,
      this.#word(depth),
    ]);
  }

  #word(depth: number): string {
    const one = (): string => {
      const chosen = this.#random();
      if (chosen < 0.3) return this.#pick(plain);
      if (chosen < 0.6) return this.#pick(quoted);
      if (chosen < 0.8 || depth <= 0) return this.#pick(expansions);
      const inner = this.#list(depth - 1);
      return this.#pick([
        `$(${inner})`,
        `"$(${inner})"`,
        `<(${inner})`,
        `>(${inner})`,
        `\`${inner.replaceAll(/[\\`$]/g, '\\$&')}\``,
        `\`${inner}\``,
        `\${x:-$(${inner})}`,
        `"\${x:-$(${inner})}"`,
        `$( ${inner} )`,
        `$(${inner}\n)`,
        `"a $(${inner}) b"`,
        `\${x:-\`${inner}\`}`,
        `{a,$(${inner})}`,
        `$((1 + $(${inner})))`,
        `$(# ${inner}\n${inner})`,
      ]);
    };
    return this.#chance(0.75) ? one() : one() + one();
  }

  #changed(line: string): string {
    const [at, length] = [this.#below(line.length + 1), 1 + this.#below(6)];
    const [before, after] = [line.slice(0, at), line.slice(at)];
    return this.#pick<() => string>([
      () => before + this.#pick(fragments) + after,
      () => before + this.#pick(fragments) + after,
      () => before + this.#pick(fragments) + after.slice(length),
      () => before + after.slice(length),
      () => before + after.slice(0, length) + after,
      () => `${before}\\\n${after}`,
      () => before + this.#word(2) + after,
      () => line + this.#pick([';', ' && ', ' || ', ' | ', '\n', ' & ']) + this.#pick(agentLines),
      () =>
        this.#pick([
          `$(${line})`,
          `"$(${line})"`,
          `\`${line}\``,
          `(${line})`,
          `{ ${line}\n}`,
          `echo "\${x:-$(${line})}"`,
          `if ${line}\nthen a; fi`,
          `for f in a; do ${line}\ndone`,
          `case a in a) ${line}\n;; esac`,
          `cat <<EOF\n$(${line})\nEOF`,
          `! ${line}`,
          `git <(${line})`,
          `echo "$(${line}\n)"`,
          `time ${line}`,
          `[[ -n $(${line}) ]]`,
          `git $(case a in a) ${line}\n;; esac)`,
        ]),
      () => before + after.slice(1, 2) + after.slice(0, 1) + after.slice(2),
    ])();
  }
}
