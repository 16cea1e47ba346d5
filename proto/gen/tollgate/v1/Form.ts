// Original file: tollgate/v1/policy.proto

export const Form = {
  FORM_UNSPECIFIED: 'FORM_UNSPECIFIED',
  FORM_PROCESS: 'FORM_PROCESS',
  FORM_LIBRARY: 'FORM_LIBRARY',
} as const;

export type Form =
  | 'FORM_UNSPECIFIED'
  | 0
  | 'FORM_PROCESS'
  | 1
  | 'FORM_LIBRARY'
  | 2

export type Form__Output = typeof Form[keyof typeof Form]
