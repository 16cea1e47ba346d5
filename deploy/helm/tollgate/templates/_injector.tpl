{{- /* The fields and settings that the injection webhook adds to the pod of the control plane. */ -}}
{{- define "tollgate.injector" -}}{{ include "tollgate.fullname" . }}-injector{{- end -}}

{{- define "tollgate.injectorEnvironment" -}}
{{- if .Values.injector.enabled -}}
- { name: TOLLGATE_INJECT_PORT, value: '8443' }
- { name: TOLLGATE_INJECT_NAME, value: {{ include "tollgate.injector" . }} }
- { name: TOLLGATE_INJECT_SETTINGS, value: /etc/tollgate/injector/settings.yaml }
{{- if .Values.injector.certManager.enabled }}
- { name: TOLLGATE_INJECT_CERT_DIR, value: /etc/tollgate/injector-certificate }
{{- end }}
{{- end -}}
{{- end -}}

{{- define "tollgate.injectorPorts" -}}
{{- if .Values.injector.enabled -}}
- { name: inject, containerPort: 8443 }
{{- end -}}
{{- end -}}

{{- define "tollgate.injectorMounts" -}}
{{- if .Values.injector.enabled -}}
- { name: injector, mountPath: /etc/tollgate/injector, readOnly: true }
{{- if .Values.injector.certManager.enabled }}
- { name: injector-certificate, mountPath: /etc/tollgate/injector-certificate, readOnly: true }
{{- end }}
{{- end -}}
{{- end -}}

{{- define "tollgate.injectorVolumes" -}}
{{- if .Values.injector.enabled -}}
- name: injector
  configMap: { name: {{ include "tollgate.injector" . }} }
{{- if .Values.injector.certManager.enabled }}
- name: injector-certificate
  secret: { secretName: {{ include "tollgate.injector" . }}-certificate, defaultMode: 288 }
{{- end }}
{{- end -}}
{{- end -}}

{{- define "tollgate.injectorSettings" -}}
{{- $address := printf "%s.%s.svc:%v" (include "tollgate.fullname" .) .Release.Namespace .Values.service.grpcPort -}}
{{- $environment := ternary (dict "TOLLGATE_ALLOW_PLAINTEXT" "true") (dict) (and .Values.plaintext (not .Values.mtls.enabled)) -}}
{{- $link := include "tollgate.injectedLink" . | fromYaml -}}
{{- $metrics := ternary (dict "metricsPort" 9464) (dict) (and .Values.monitoring.enabled .Values.monitoring.podMonitor.enabled) -}}
{{- mergeOverwrite (dict "image" (include "tollgate.sidecarImage" .) "controlPlane" $address "environment" $environment) $link $metrics (deepCopy .Values.injector.settings) | toYaml -}}
{{- end -}}

{{- /* Fields that both webhooks have in common. */ -}}
{{- define "tollgate.injectorWebhook" -}}
admissionReviewVersions: [v1]
sideEffects: None
failurePolicy: Fail
matchPolicy: Equivalent
# Containers that later webhooks add to the pod are pointed at the sidecar as well.
reinvocationPolicy: IfNeeded
timeoutSeconds: 5
rules:
  - { apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods], scope: Namespaced }
clientConfig:
  service: { name: {{ include "tollgate.injector" . }}, namespace: {{ .Release.Namespace }}, path: /inject, port: 443 }
{{- end -}}
