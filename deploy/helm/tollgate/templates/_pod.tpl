{{- /* The pod, the same in a Deployment and in a StatefulSet. */ -}}
{{- define "tollgate.restScheme" -}}{{- if .Values.restTls.secretName -}}, scheme: HTTPS{{- end -}}{{- end -}}

{{- define "tollgate.pod" -}}
metadata:
  labels:
    {{- include "tollgate.selector" . | nindent 4 }}
    {{- include "tollgate.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  {{- $annotations := deepCopy .Values.podAnnotations }}
  {{- if .Values.injector.enabled }}
  {{- /* The values are read at the start. */}}
  {{- $annotations = set $annotations "tollgate.dev/injector-settings" (include "tollgate.injectorSettings" . | sha256sum) }}
  {{- end }}
  {{- with $annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "tollgate.serviceAccount" . }}
  automountServiceAccountToken: false
  # For a service whose name begins with `tollgate`, Kubernetes would set variables that look like ours.
  enableServiceLinks: false
  # Orphaned processes of tool servers are then reaped, and node receives all signals: it is not process 1.
  shareProcessNamespace: true
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  # The time before the drain, the drain, and the time after it: answers in progress, the last entries, telemetry.
  terminationGracePeriodSeconds: {{ add .Values.preStopSeconds .Values.drainSeconds 30 }}
  securityContext:
    runAsNonRoot: true
    {{- with .Values.uid }}
    runAsUser: {{ int64 . }}
    runAsGroup: {{ int64 . }}
    fsGroup: {{ int64 . }}
    fsGroupChangePolicy: OnRootMismatch
    {{- end }}
    seccompProfile: { type: RuntimeDefault }
  {{- if .Values.topologySpread.enabled }}
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: {{ $.Values.topologySpread.whenUnsatisfiable }}
      labelSelector: { matchLabels: {{ include "tollgate.selector" $ | fromYaml | toJson }} }
    {{- end }}
  {{- end }}
  {{- range $field := list "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
  {{- with index $.Values $field }}
  {{ $field }}: {{- kindIs "string" . | ternary (printf " %v" .) (printf "\n%s" (toYaml . | indent 4)) }}
  {{- end }}
  {{- end }}
  containers:
    - name: control-plane
      image: {{ include "tollgate.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      env: {{- include "tollgate.environment" . | nindent 8 }}
        {{- with include "tollgate.mtlsEnvironment" . }}{{ . | nindent 8 }}{{ end }}
        {{- with include "tollgate.injectorEnvironment" . }}{{ . | nindent 8 }}{{ end }}
        {{- with .Values.extraEnv }}{{ toYaml . | nindent 8 }}{{ end }}
      ports:
        - { name: rest, containerPort: 8080 }
        - { name: grpc, containerPort: 8081 }
        {{- with include "tollgate.mtlsPorts" . }}{{ . | nindent 8 }}{{ end }}
        {{- with include "tollgate.injectorPorts" . }}{{ . | nindent 8 }}{{ end }}
      # It listens once the database is migrated, which may take a while; then immediately.
      startupProbe:
        httpGet: { path: /healthz, port: rest{{ include "tollgate.restScheme" . }} }
        periodSeconds: 2
        failureThreshold: 300
      livenessProbe:
        httpGet: { path: /healthz, port: rest{{ include "tollgate.restScheme" . }} }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: rest{{ include "tollgate.restScheme" . }} }
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 2
      lifecycle:
        preStop:
          # The `sleep` action of Kubernetes exists since 1.30 only, and an image need not have the program.
          exec: { command: [node, -e, 'setTimeout(() => {}, {{ mul .Values.preStopSeconds 1000 }})'] }
      resources: {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      volumeMounts:
        - { name: data, mountPath: /var/lib/tollgate }
        - { name: tmp, mountPath: /tmp }
        {{- with include "tollgate.mtlsMounts" . }}{{ . | nindent 8 }}{{ end }}
        {{- with include "tollgate.injectorMounts" . }}{{ . | nindent 8 }}{{ end }}
        {{- with include "tollgate.accountMounts" . }}{{ . | nindent 8 }}{{ end }}
        {{- if .Values.restTls.secretName }}
        - { name: rest-tls, mountPath: /etc/tollgate/rest-tls, readOnly: true }
        {{- end }}
        {{- if .Values.existingSecrets.checkpointKey.name }}
        - { name: checkpoint-key, mountPath: /etc/tollgate/checkpoint, readOnly: true }
        {{- end }}
        {{- if .Values.existingSecrets.caCertificates.name }}
        - { name: ca-certificates, mountPath: /etc/tollgate/ca, readOnly: true }
        {{- end }}
        {{- with .Values.extraVolumeMounts }}{{ toYaml . | nindent 8 }}{{ end }}
  volumes:
    {{- if not .Values.data.persistent }}
    - name: data
      emptyDir: { sizeLimit: {{ .Values.data.size }} }
    {{- end }}
    - name: tmp
      emptyDir: { sizeLimit: 256Mi }
    {{- with include "tollgate.mtlsVolumes" . }}{{ . | nindent 4 }}{{ end }}
    {{- with include "tollgate.injectorVolumes" . }}{{ . | nindent 4 }}{{ end }}
    {{- with include "tollgate.accountVolumes" . }}{{ . | nindent 4 }}{{ end }}
    {{- with .Values.restTls.secretName }}
    - name: rest-tls
      secret: { secretName: {{ . }}, defaultMode: 288 }
    {{- end }}
    {{- with .Values.existingSecrets.checkpointKey }}
    {{- if .name }}
    - name: checkpoint-key
      secret:
        secretName: {{ .name }}
        # 0440, only for the group of the pod: the control plane refuses a key that everybody may read.
        defaultMode: 288
        optional: {{ .optional }}
        items: [{ key: {{ .key }}, path: key.pem }]
    {{- end }}
    {{- end }}
    {{- with .Values.existingSecrets.caCertificates }}
    {{- if .name }}
    - name: ca-certificates
      secret: { secretName: {{ .name }}, defaultMode: 292, optional: {{ .optional }}, items: [{ key: {{ .key }}, path: ca.crt }] }
    {{- end }}
    {{- end }}
    {{- with .Values.extraVolumes }}{{ toYaml . | nindent 4 }}{{ end }}
{{- end -}}
