{{- /* The environment of the control plane, sorted by where it comes from: the chart, variables, Secrets. */ -}}
{{- define "tollgate.environment" -}}
{{- $secrets := .Values.existingSecrets -}}
- { name: TOLLGATE_HOST, value: {{ .Values.host | quote }} }
- { name: TOLLGATE_PORT, value: '8080' }
- { name: TOLLGATE_GRPC_PORT, value: '8081' }
- { name: TOLLGATE_ALLOW_PLAINTEXT, value: {{ .Values.plaintext | toString | quote }} }
- { name: TOLLGATE_DATA_DIR, value: /var/lib/tollgate }
- { name: TOLLGATE_DRAIN_MS, value: {{ mul .Values.drainSeconds 1000 | toString | quote }} }
{{- if .Values.restTls.secretName }}
- { name: TOLLGATE_REST_TLS_DIR, value: /etc/tollgate/rest-tls }
{{- end }}
{{- if $secrets.checkpointKey.name }}
- { name: TOLLGATE_CHECKPOINT_KEY_FILE, value: /etc/tollgate/checkpoint/key.pem }
{{- end }}
{{- if $secrets.caCertificates.name }}
- { name: NODE_EXTRA_CA_CERTS, value: /etc/tollgate/ca/ca.crt }
{{- end }}
{{- range $name, $value := .Values.variables }}
{{- /* A large number would be written as 1e+08. */}}
- { name: {{ $name }}, value: {{ if kindIs "float64" $value }}{{ int64 $value | toString | quote }}{{ else }}{{ toString $value | quote }}{{ end }} }
{{- end }}
{{- if .Values.database.bundled.enabled }}
- name: DATABASE_URL
  valueFrom: { secretKeyRef: { name: {{ include "tollgate.postgresql" . }}, key: url } }
{{- end }}
{{- $names := dict "databaseUrl" "DATABASE_URL" "ownerKey" "TOLLGATE_OWNER_KEY" "operatorKey" "TOLLGATE_OPERATOR_KEY" "secretKey" "TOLLGATE_SECRET_KEY"
  "openaiApiKey" "TOLLGATE_OPENAI_API_KEY" "openaiBaseUrl" "TOLLGATE_OPENAI_BASE_URL" "anthropicApiKey" "TOLLGATE_ANTHROPIC_API_KEY"
  "anthropicBaseUrl" "TOLLGATE_ANTHROPIC_BASE_URL" "modelEndpoints" "TOLLGATE_MODEL_ENDPOINTS" "oidcClientSecret" "TOLLGATE_OIDC_CLIENT_SECRET"
  "auditExportHeaders" "TOLLGATE_AUDIT_EXPORT_HEADERS" }}
{{- range $field, $name := $names }}
{{- with index $secrets $field }}
{{- if .name }}
- name: {{ $name }}
  valueFrom: { secretKeyRef: { name: {{ .name }}, key: {{ .key }}{{ if .optional }}, optional: true{{ end }} } }
{{- end }}
{{- end }}
{{- end }}
{{- range $name, $secret := $secrets.others }}
- name: {{ $name }}
  valueFrom: { secretKeyRef: { name: {{ $secret.name }}, key: {{ $secret.key }}{{ if $secret.optional }}, optional: true{{ end }} } }
{{- end }}
{{- end -}}
