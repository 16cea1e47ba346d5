// Original file: envoy/service/auth/v3/external_auth.proto

import type { HeaderValue as _envoy_service_auth_v3_HeaderValue, HeaderValue__Output as _envoy_service_auth_v3_HeaderValue__Output } from '../../../../envoy/service/auth/v3/HeaderValue.ts';

export interface HeaderMap {
  'headers'?: (_envoy_service_auth_v3_HeaderValue)[];
}

export interface HeaderMap__Output {
  'headers': (_envoy_service_auth_v3_HeaderValue__Output)[];
}
