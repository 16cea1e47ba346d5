{{- /* Conditions between values that the schema cannot express: reports every problem at once, or nothing. */ -}}
{{- define "tollgate.problems" -}}
{{- $problems := list -}}
{{- $secrets := .Values.existingSecrets -}}
{{- /* A registry is a host with a dot or a port, or localhost. Without one a name is of Docker Hub, where it may belong to anybody. */ -}}
{{- $host := `(localhost|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+)(:[0-9]+)?|[A-Za-z0-9-]+:[0-9]+` -}}
{{- $path := `(/[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*)*` -}}
{{- $published := "the registry and path under which you published the images, such as registry.example.com/tollgate" -}}
{{- $image := .Values.image | default dict -}}
{{- $repository := $image.repository -}}
{{- if not $repository -}}
{{- $problems = append $problems (printf "image.repository is required: %s" $published) -}}
{{- else if regexMatch "/control-plane([:@].*)?$" $repository -}}
{{- $problems = append $problems (printf "image.repository is %s: leave out the name of the image, which the chart adds: %s" $repository (regexReplaceAll "/control-plane([:@].*)?$" $repository "")) -}}
{{- else if not (regexMatch (printf "^(%s)%s$" $host $path) $repository) -}}
{{- $problems = append $problems (printf "image.repository is %s: it must be %s (without a tag or digest; of Docker Hub, docker.io/<name>)" $repository $published) -}}
{{- end -}}
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
{{- $problems = append $problems "mtls has no key to encrypt the key of its authority: set existingSecrets.secretKey.name, or mtls.certManager.enabled=true" -}}
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
{{- $problems = append $problems "autoscaling needs a CPU request to measure: set resources.requests.cpu" -}}
{{- end -}}
{{- if and .Values.injector.enabled (not .Values.injector.settings.image) $image.digest -}}
{{- $problems = append $problems "image.digest is that of the control plane's image alone: set injector.settings.image to the image of the sidecar" -}}
{{- end -}}
{{- $ports := list (int .Values.service.restPort) (int .Values.service.grpcPort) -}}
{{- if include "tollgate.enrols" . }}{{ $ports = append $ports (int .Values.service.enrolPort) }}{{ end -}}
{{- if ne (len $ports) (len (uniq $ports)) -}}
{{- $problems = append $problems (printf "service uses one port twice: %s" (join ", " $ports)) -}}
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
