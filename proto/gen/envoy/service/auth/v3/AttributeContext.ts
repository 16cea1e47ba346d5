// Original file: envoy/service/auth/v3/external_auth.proto

import type { Metadata as _envoy_service_auth_v3_Metadata, Metadata__Output as _envoy_service_auth_v3_Metadata__Output } from '../../../../envoy/service/auth/v3/Metadata.ts';
import type { HeaderMap as _envoy_service_auth_v3_HeaderMap, HeaderMap__Output as _envoy_service_auth_v3_HeaderMap__Output } from '../../../../envoy/service/auth/v3/HeaderMap.ts';

export interface _envoy_service_auth_v3_AttributeContext_HttpRequest {
  'method'?: (string);
  'headers'?: ({[key: string]: string});
  'path'?: (string);
  'protocol'?: (string);
  'body'?: (string);
  'rawBody'?: (Buffer | Uint8Array | string);
  'headerMap'?: (_envoy_service_auth_v3_HeaderMap | null);
}

export interface _envoy_service_auth_v3_AttributeContext_HttpRequest__Output {
  'method': (string);
  'headers': ({[key: string]: string});
  'path': (string);
  'protocol': (string);
  'body': (string);
  'rawBody': (Buffer);
  'headerMap': (_envoy_service_auth_v3_HeaderMap__Output | null);
}

export interface _envoy_service_auth_v3_AttributeContext_Request {
  'http'?: (_envoy_service_auth_v3_AttributeContext_HttpRequest | null);
}

export interface _envoy_service_auth_v3_AttributeContext_Request__Output {
  'http': (_envoy_service_auth_v3_AttributeContext_HttpRequest__Output | null);
}

export interface AttributeContext {
  'request'?: (_envoy_service_auth_v3_AttributeContext_Request | null);
  'contextExtensions'?: ({[key: string]: string});
  'routeMetadataContext'?: (_envoy_service_auth_v3_Metadata | null);
}

export interface AttributeContext__Output {
  'request': (_envoy_service_auth_v3_AttributeContext_Request__Output | null);
  'contextExtensions': ({[key: string]: string});
  'routeMetadataContext': (_envoy_service_auth_v3_Metadata__Output | null);
}
