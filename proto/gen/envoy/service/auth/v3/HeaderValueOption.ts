// Original file: envoy/service/auth/v3/external_auth.proto

import type { HeaderValue as _envoy_service_auth_v3_HeaderValue, HeaderValue__Output as _envoy_service_auth_v3_HeaderValue__Output } from '../../../../envoy/service/auth/v3/HeaderValue.ts';

// Original file: envoy/service/auth/v3/external_auth.proto

export const _envoy_service_auth_v3_HeaderValueOption_HeaderAppendAction = {
  APPEND_IF_EXISTS_OR_ADD: 'APPEND_IF_EXISTS_OR_ADD',
  ADD_IF_ABSENT: 'ADD_IF_ABSENT',
  OVERWRITE_IF_EXISTS_OR_ADD: 'OVERWRITE_IF_EXISTS_OR_ADD',
} as const;

export type _envoy_service_auth_v3_HeaderValueOption_HeaderAppendAction =
  | 'APPEND_IF_EXISTS_OR_ADD'
  | 0
  | 'ADD_IF_ABSENT'
  | 1
  | 'OVERWRITE_IF_EXISTS_OR_ADD'
  | 2

export type _envoy_service_auth_v3_HeaderValueOption_HeaderAppendAction__Output = typeof _envoy_service_auth_v3_HeaderValueOption_HeaderAppendAction[keyof typeof _envoy_service_auth_v3_HeaderValueOption_HeaderAppendAction]

export interface HeaderValueOption {
  'header'?: (_envoy_service_auth_v3_HeaderValue | null);
  'appendAction'?: (_envoy_service_auth_v3_HeaderValueOption_HeaderAppendAction);
}

export interface HeaderValueOption__Output {
  'header': (_envoy_service_auth_v3_HeaderValue__Output | null);
  'appendAction': (_envoy_service_auth_v3_HeaderValueOption_HeaderAppendAction__Output);
}
