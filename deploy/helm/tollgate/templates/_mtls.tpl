{{- /* TLS of gRPC with certificates on both sides (docs/operate/tls.md): the control plane's own authority, or cert-manager's. */ -}}
{{- define "tollgate.enrols" -}}{{- if and .Values.mtls.enabled (not .Values.mtls.certManager.enabled) -}}true{{- end -}}{{- end -}}

{{- define "tollgate.serverNames" -}}
{{- $service := include "tollgate.fullname" . -}}
{{- $inNamespace := printf "%s.%s" $service .Release.Namespace -}}
{{- concat (list (printf "%s.svc" $inNamespace) (printf "%s.svc.cluster.local" $inNamespace) $inNamespace $service "localhost") .Values.mtls.names | uniq | join "," -}}
{{- end -}}

{{- define "tollgate.mtlsEnvironment" -}}
{{- if include "tollgate.enrols" . -}}
- { name: TOLLGATE_ENROL_PORT, value: '8082' }
- { name: TOLLGATE_TLS_NAMES, value: {{ include "tollgate.serverNames" . | quote }} }
{{- else if .Values.mtls.enabled -}}
- { name: TOLLGATE_TLS_DIR, value: /etc/tollgate/tls }
{{- end -}}
{{- end -}}

{{- define "tollgate.mtlsPorts" -}}
{{- if include "tollgate.enrols" . -}}
- { name: enrol, containerPort: 8082 }
{{- end -}}
{{- end -}}

{{- define "tollgate.mtlsMounts" -}}
{{- if and .Values.mtls.enabled .Values.mtls.certManager.enabled -}}
- { name: tls, mountPath: /etc/tollgate/tls, readOnly: true }
{{- end -}}
{{- end -}}

{{- define "tollgate.mtlsVolumes" -}}
{{- if and .Values.mtls.enabled .Values.mtls.certManager.enabled -}}
- name: tls
  secret: { secretName: {{ include "tollgate.fullname" . }}-tls, defaultMode: 288 }
{{- end -}}
{{- end -}}

{{- /* The account of the pod, for those components that ask the Kubernetes API: the injector, and the review of tokens. */ -}}
{{- define "tollgate.accountMounts" -}}
{{- if or .Values.injector.enabled (include "tollgate.enrols" .) -}}
- { name: account, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true }
{{- end -}}
{{- end -}}

{{- define "tollgate.accountVolumes" -}}
{{- if or .Values.injector.enabled (include "tollgate.enrols" .) -}}
# Mounted explicitly instead of by automountServiceAccountToken: a token that expires.
- name: account
  projected:
    # 0440: readable for the group of the pod as well. Written as a decimal, which every version of YAML reads the same.
    defaultMode: 288
    sources:
      - serviceAccountToken: { path: token, expirationSeconds: 3600 }
      - configMap: { name: kube-root-ca.crt, items: [{ key: ca.crt, path: ca.crt }] }
      - downwardAPI: { items: [{ path: namespace, fieldRef: { fieldPath: metadata.namespace } }] }
{{- end -}}
{{- end -}}

{{- /* Without peers every address is allowed: API servers are not pods, and in some networks no block of addresses
describes a node. */ -}}
{{- define "tollgate.toApiServer" -}}
- ports:
    {{- range .Values.networkPolicy.apiServerPorts }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
  {{- with .Values.networkPolicy.apiServerPeers }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- /* The address that injected sidecars connect to, unless their settings name another. */ -}}
{{- define "tollgate.injectedLink" -}}
{{- $settings := .Values.injector.settings -}}
{{- if not .Values.mtls.enabled -}}{}
{{- else if .Values.mtls.certManager.enabled -}}
{{ dict "certificateSecret" "tollgate-sidecar-tls" | toYaml }}
{{- else if $settings.certificateSecret -}}{}
{{- else -}}
{{ dict "enrol" (printf "%s.%s.svc:%v" (include "tollgate.fullname" .) .Release.Namespace .Values.service.enrolPort) | toYaml }}
{{- end -}}
{{- end -}}
