// A list of names and values, in two columns where there is space for them.
import type { ReactNode } from 'react';
import './facts.css';

export function Facts({ children }: { readonly children: ReactNode }) {
  return <dl className="facts">{children}</dl>;
}

/** A fact without a value is left out. */
export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  if (children === null || children === undefined || children === false) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
