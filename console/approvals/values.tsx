// The beginnings of the values of an input in a few lines. Each value is cut by itself, so that none hides another.
import { Foreign } from '../parts/foreign.tsx';
import { valuesOf } from './values.ts';

interface BriefValuesProps {
  readonly input: unknown;
  /** How many values are shown, and how many characters of each. */
  readonly max?: number;
  readonly length?: number;
  /** Without the names of the fields. */
  readonly isNameless?: boolean;
}

export function BriefValues({ input, max = 6, length = 48, isNameless = false }: BriefValuesProps) {
  const { first, more } = valuesOf(input, max);
  return (
    <span className="brief-values">
      {first.map(({ path, text }, at) => (
        <span key={at}>
          {path !== '' && !isNameless && (
            <span className="brief-name">
              <Foreign text={path} max={32} />{' '}
            </span>
          )}
          <Foreign text={text} max={length} />
          {at < first.length - 1 && (isNameless ? ', ' : ' · ')}
        </span>
      ))}
      {more > 0 && ` and ${more.toLocaleString()} more`}
    </span>
  );
}
