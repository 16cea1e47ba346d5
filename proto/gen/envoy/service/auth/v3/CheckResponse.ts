// Original file: envoy/service/auth/v3/external_auth.proto

import type { Status as _envoy_service_auth_v3_Status, Status__Output as _envoy_service_auth_v3_Status__Output } from '../../../../envoy/service/auth/v3/Status.ts';
import type { DeniedHttpResponse as _envoy_service_auth_v3_DeniedHttpResponse, DeniedHttpResponse__Output as _envoy_service_auth_v3_DeniedHttpResponse__Output } from '../../../../envoy/service/auth/v3/DeniedHttpResponse.ts';
import type { OkHttpResponse as _envoy_service_auth_v3_OkHttpResponse, OkHttpResponse__Output as _envoy_service_auth_v3_OkHttpResponse__Output } from '../../../../envoy/service/auth/v3/OkHttpResponse.ts';

export interface CheckResponse {
  'status'?: (_envoy_service_auth_v3_Status | null);
  'deniedResponse'?: (_envoy_service_auth_v3_DeniedHttpResponse | null);
  'okResponse'?: (_envoy_service_auth_v3_OkHttpResponse | null);
  'httpResponse'?: "deniedResponse"|"okResponse";
}

export interface CheckResponse__Output {
  'status': (_envoy_service_auth_v3_Status__Output | null);
  'deniedResponse'?: (_envoy_service_auth_v3_DeniedHttpResponse__Output | null);
  'okResponse'?: (_envoy_service_auth_v3_OkHttpResponse__Output | null);
  'httpResponse'?: "deniedResponse"|"okResponse";
}
