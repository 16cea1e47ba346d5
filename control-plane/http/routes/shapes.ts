// Schemas that several resources use. Bodies of agents and policies are objects here; `domain/` has the rest to say of
// them, with every problem and its place.
import { roles, tiers } from '@tollgate/proto/contract';
import Type from 'typebox';

/** One of these strings. */
export const oneOf = <const T extends string>(values: readonly T[]) => Type.Unsafe<T>({ type: 'string', enum: [...values] });

export const roleShape = oneOf(roles);
export const tierShape = oneOf(tiers);
export const anyObject = Type.Object({}, { additionalProperties: true });
export const pageLimit = Type.String({ description: 'integer; default 200, clamped to 1–1000' });

const path = { workspace: Type.String() };
export const inWorkspace = Type.Object(path);
export const workspaceAnd = <const K extends string>(name: K) =>
  Type.Unsafe<{ readonly workspace: string } & { readonly [P in K]: string }>(Type.Object({ ...path, [name]: Type.String() }));
