// Holds the input of one call as conditions, entry and tool see it: one copy. It is made when a condition reads the
// input, so a call without conditions costs nothing. What the caller changes in its own object afterwards changes
// nothing, and what has no JSON (bytes, a Map, a stream) is in the copy as it is.
import { canonicalJson, NotJson } from '@tollgate/proto/contract';
import { Undecided } from '../conditions/values.ts';
import type { CallFacts } from '../decide/cases.ts';
import { planeTime } from '../snapshot/plane-time.ts';
import type { GovernDeps } from './governing.ts';
import { exactProblem, plainCopy } from './plain-data.ts';

/** The input of a call, and what a door knows about it. */
export interface CalledWith {
  readonly input: unknown;
  /**
   * True: the door has parsed the input from JSON and nothing else changes it, so it is not copied for conditions. A
   * library does not set it: the caller keeps its own object.
   */
  readonly isOwnInput?: boolean;
  /** The field of the input that conditions read as `args`. Absent: the whole input. */
  readonly argumentsIn?: string;
  /** For an HTTP request: the names of the headers that `input.headers` may contain. */
  readonly shownHeaders?: ReadonlySet<string>;
}

type Copy = { readonly value: unknown } | { readonly problem: string };

/** What conditions read of a call, and the input that the call continues with. */
export class CallInput implements CallFacts {
  caseAnswers: CallFacts['caseAnswers'] = null;
  approved: CallFacts['approved'] = null;
  isFurtherUse = false;
  readonly #deps: Pick<GovernDeps, 'cell' | 'clock'>;
  readonly #called: CalledWith;
  #copy: Copy | null = null;
  #wallTime: number | null = null;

  constructor(deps: Pick<GovernDeps, 'cell' | 'clock'>, called: CalledWith) {
    this.#deps = deps;
    this.#called = called;
  }

  get args(): unknown {
    const copy = (this.#copy ??= copyOf(this.#called));
    if ('problem' in copy) return notReadable;
    const { argumentsIn } = this.#called;
    const args = argumentsIn === undefined ? copy.value : fieldOf(copy.value, argumentsIn);
    return args ?? noArguments;
  }

  get shownHeaders(): ReadonlySet<string> | undefined {
    return this.#called.shownHeaders;
  }

  /** The time of day by the control plane's clock, as far as it is known. All conditions of one decision read the same time. */
  get wallTime(): number {
    this.#wallTime ??= planeTime(this.#deps);
    return this.#wallTime;
  }

  /** The input of the call: the copy, if conditions have read one. */
  get input(): unknown {
    return this.#copy === null || 'problem' in this.#copy ? this.#called.input : this.#copy.value;
  }

  /**
   * From now on the input is exactly what its canonical JSON says: people are asked for this, and the tool receives it.
   * Returns why that is not possible. Null: it is.
   */
  becomeJson(): string | null {
    const copy = (this.#copy ??= copyOf(this.#called));
    if ('problem' in copy) return copy.problem;
    const problem = exactProblem(copy.value);
    if (problem !== null) return problem;
    try {
      this.#copy = { value: JSON.parse(canonicalJson(copy.value)) };
    } catch (error) {
      return error instanceof NotJson ? error.message : 'cannot be read';
    }
    // Conditions have read the earlier form.
    this.caseAnswers = null;
    return null;
  }

  /** Forgets what conditions have read, because time has passed: they are evaluated again, at the time of that evaluation. */
  renew(): void {
    this.caseAnswers = null;
    this.#wallTime = null;
  }

  /** Why the input could not be copied. Null: it was copied, or no condition has read it. */
  get problem(): string | null {
    return this.#copy !== null && 'problem' in this.#copy ? this.#copy.problem : null;
  }
}

const notReadable = new Undecided('type', 'args');
/** A call without an input has no arguments. */
const noArguments = Object.freeze({});

function copyOf({ input, isOwnInput = false }: CalledWith): Copy {
  if (isOwnInput) return { value: input };
  try {
    return { value: plainCopy(input) };
  } catch (error) {
    return { problem: error instanceof NotJson ? error.message : 'cannot be read' };
  }
}

/** The value is a copy, or JSON that a door has parsed, so reading a field runs no code of the caller. */
const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;

/** A part of an input that a door does not see. A condition that reads it is undecided. */
export class Unseen extends Undecided {
  /** `path`: the part as a condition names it, for example `args.body`. */
  constructor(path: string) {
    super('hidden', path);
  }

  /** What the entry of the call says about it. */
  toJSON(): object {
    return { shown: false };
  }
}
