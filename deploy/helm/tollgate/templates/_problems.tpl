{{- /* Conditions between values that the schema cannot express: reports every problem at once, or nothing. */ -}}
{{- define "tollgate.problems" -}}
{{- $problems := list -}}
{{- $secrets := .Values.existingSecrets -}}
{{- if and (not $secrets.databaseUrl.name) (not .Values.database.bundled.enabled) -}}
{{- $problems = append $problems "there is no database: set existingSecrets.databaseUrl.name to a Secret that holds the address of a PostgreSQL 15 or later, or database.bundled.enabled=true for trying" -}}
{{- end -}}
{{- if and $secrets.databaseUrl.name .Values.database.bundled.enabled -}}
{{- $problems = append $problems "there are two databases: existingSecrets.databaseUrl and database.bundled; set one" -}}
{{- end -}}
{{- if not (or $secrets.ownerKey.name .Values.ownerKeyInLog) -}}
{{- $problems = append $problems "there is no owner's key: set existingSecrets.ownerKey.name, or ownerKeyInLog=true to have one made and printed once to a pod's log" -}}
{{- end -}}
{{- if not .Values.plaintext -}}
{{- $problems = append $problems (.Values.mtls.enabled | ternary "REST would be plain text: set plaintext=true once TLS stands in front of it, or where the network between is trusted" "REST and gRPC would be plain text: set plaintext=true once TLS stands in front of both, or where the network between is trusted") -}}
{{- end -}}
{{- if and (include "tollgate.enrols" .) (not $secrets.secretKey.name) -}}
{{- $problems = append $problems "mtls has no key to keep that of its authority under: set existingSecrets.secretKey.name, or mtls.certManager.enabled=true" -}}
{{- end -}}
{{- if and .Values.mtls.enabled .Values.mtls.certManager.enabled (not .Values.mtls.certManager.issuerRef.name) -}}
{{- $problems = append $problems "mtls.certManager has no issuer: set mtls.certManager.issuerRef.name" -}}
{{- end -}}
{{- if and (include "tollgate.enrols" .) (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- $problems = append $problems "mtls would need rights for the account default: set serviceAccount.create=true, or serviceAccount.name" -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (lt (int .Values.autoscaling.maxReplicas) (int .Values.autoscaling.minReplicas)) -}}
{{- $problems = append $problems "autoscaling.maxReplicas is less than autoscaling.minReplicas" -}}
{{- end -}}
{{- if and .Values.injector.enabled .Values.injector.certManager.enabled (not .Values.injector.certManager.issuerRef.name) -}}
{{- $problems = append $problems "injector.certManager has no issuer: set injector.certManager.issuerRef.name" -}}
{{- end -}}
{{- if and .Values.injector.enabled (not .Values.injector.certManager.enabled) (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- $problems = append $problems "the injector would need rights for the account default: set serviceAccount.create=true, or serviceAccount.name" -}}
{{- end -}}
{{- $requests := .Values.resources.requests | default dict -}}
{{- if and .Values.autoscaling.enabled (not $requests.cpu) -}}
{{- $problems = append $problems "autoscaling has nothing to measure by: set resources.requests.cpu" -}}
{{- end -}}
{{- if and .Values.injector.enabled (not .Values.injector.settings.image) (ne .Values.image.repository "tollgate/control-plane") -}}
{{- $problems = append $problems (printf "sidecars would be of tollgate/sidecar:%s, and the control plane is of %s: set injector.settings.image" .Chart.AppVersion .Values.image.repository) -}}
{{- end -}}
{{- $ports := list (int .Values.service.restPort) (int .Values.service.grpcPort) -}}
{{- if include "tollgate.enrols" . }}{{ $ports = append $ports (int .Values.service.enrolPort) }}{{ end -}}
{{- if ne (len $ports) (len (uniq $ports)) -}}
{{- $problems = append $problems (printf "service has one port for two things: %s" (join ", " $ports)) -}}
{{- end -}}
{{- if and $secrets.caCertificates.name (hasKey .Values.variables "NODE_EXTRA_CA_CERTS") -}}
{{- $problems = append $problems "NODE_EXTRA_CA_CERTS is in variables, and set by existingSecrets.caCertificates; set one" -}}
{{- end -}}
{{- range $name, $_ := $secrets.others -}}
{{- if hasKey $.Values.variables $name -}}
{{- $problems = append $problems (printf "%s is in variables and in existingSecrets.others; set one" $name) -}}
{{- end -}}
{{- end -}}
{{- if $problems -}}{{- fail (printf "\n  %s\n" (join "\n  " $problems)) -}}{{- end -}}
{{- end -}}
