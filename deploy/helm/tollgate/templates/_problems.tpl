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
{{- $plain := list -}}
{{- if not .Values.restTls.secretName }}{{ $plain = append $plain "REST" }}{{ end -}}
{{- if not .Values.mtls.enabled }}{{ $plain = append $plain "gRPC" }}{{ end -}}
{{- if and $plain (not .Values.plaintext) -}}
{{- $problems = append $problems (printf "%s would be plain text: set plaintext=true once TLS stands in front of %s, or where the network between is trusted; or restTls.secretName and mtls.enabled" (join " and " $plain) (eq (len $plain) 2 | ternary "both" "it")) -}}
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
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- $problems = append $problems "ingress has no host, and would take every request that comes to its controller: set ingress.hosts to the names of REST, such as [tollgate.example.com]" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- $problems = append $problems "httpRoute belongs to no gateway: set httpRoute.parentRefs, such as [{ name: public, namespace: gateways }]" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.hostnames) -}}
{{- $problems = append $problems "httpRoute has no host name, and would take every request that comes to its gateway: set httpRoute.hostnames to the names of REST, such as [tollgate.example.com]" -}}
{{- end -}}
{{- $settings := .Values.injector.settings -}}
{{- range $field := list "controlPlane" "enrol" -}}
{{- if regexMatch `^(localhost|127\.[0-9.]+|\[?::1\]?|0\.0\.0\.0)(:|$)` (get $settings $field | default "" | toString) -}}
{{- $problems = append $problems (printf "injector.settings.%s is %s: in the pod of a sidecar that is the pod itself; leave it out for the Service of this release, or name one that every pod reaches" $field (get $settings $field)) -}}
{{- end -}}
{{- end -}}
{{- if eq (int (get $settings "port" | default 9090)) (int (get $settings "metricsPort" | default 0)) -}}
{{- $problems = append $problems "injector.settings.metricsPort is the port that sidecars listen on for agents (injector.settings.port): set another" -}}
{{- end -}}
{{- if and $settings.certificateSecret (or $settings.enrol $settings.ca) -}}
{{- $problems = append $problems "injector.settings.certificateSecret holds certificates and authorities already: leave out injector.settings.enrol and ca" -}}
{{- end -}}
{{- $own := list -}}
{{- range $name := list "name" "instance" "component" "version" "part-of" "managed-by" }}{{ $own = append $own (printf "app.kubernetes.io/%s" $name) }}{{ end -}}
{{- range $label, $_ := .Values.commonLabels -}}
{{- if has $label $own -}}
{{- $problems = append $problems (printf "commonLabels has %s, by which the chart finds its own objects: leave it out" $label) -}}
{{- end -}}
{{- end -}}
{{- range $pair := list (list "podLabels" .Values.podLabels) (list "monitoring.labels" .Values.monitoring.labels) (list "monitoring.dashboard.labels" .Values.monitoring.dashboard.labels) -}}
{{- range $label, $_ := index $pair 1 -}}
{{- if has $label $own -}}
{{- $problems = append $problems (printf "%s has %s, by which the chart finds its own objects: leave it out" (index $pair 0) $label) -}}
{{- else if hasKey $.Values.commonLabels $label -}}
{{- $problems = append $problems (printf "%s is in commonLabels and in %s; set one" $label (index $pair 0)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $secrets.caCertificates.name (hasKey .Values.variables "NODE_EXTRA_CA_CERTS") -}}
{{- $problems = append $problems "NODE_EXTRA_CA_CERTS is in variables, and set by existingSecrets.caCertificates; set one" -}}
{{- end -}}
{{- range $name, $_ := $secrets.others -}}
{{- if hasKey $.Values.variables $name -}}
{{- $problems = append $problems (printf "%s is in variables and in existingSecrets.others; set one" $name) -}}
{{- end -}}
{{- end -}}
{{- if not $problems -}}{{- $problems = include "tollgate.podProblems" . | fromJsonArray -}}{{- end -}}
{{- if $problems -}}{{- fail (printf "\n  %s\n" (join "\n  " $problems)) -}}{{- end -}}
{{- end -}}

{{- /* What extraEnv, extraVolumes and extraVolumeMounts make wrong with the pod: a JSON list. */ -}}
{{- define "tollgate.podProblems" -}}
{{- $problems := list -}}
{{- $spec := (include "tollgate.pod" . | fromYaml).spec -}}
{{- $container := first $spec.containers -}}
{{- $names := list -}}
{{- range $container.env -}}
{{- if has .name $names -}}{{- $problems = append $problems (printf "%s is in extraEnv, and set already: take it out of extraEnv" .name) -}}{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- $volumes := list -}}
{{- range $spec.volumes -}}
{{- if has .name $volumes -}}{{- $problems = append $problems (printf "extraVolumes has %s, which is a volume of the pod already: give it another name" .name) -}}{{- end -}}
{{- $volumes = append $volumes .name -}}
{{- end -}}
{{- if .Values.data.persistent -}}{{- $volumes = append $volumes "data" -}}{{- end -}}
{{- $paths := list -}}
{{- range $container.volumeMounts -}}
{{- if has .mountPath $paths -}}{{- $problems = append $problems (printf "extraVolumeMounts has %s, where a volume is mounted already: choose another mountPath" .mountPath) -}}{{- end -}}
{{- if not (has .name $volumes) -}}{{- $problems = append $problems (printf "extraVolumeMounts has %s, which is no volume of the pod: add it to extraVolumes" .name) -}}{{- end -}}
{{- $paths = append $paths .mountPath -}}
{{- end -}}
{{- $problems | uniq | toJson -}}
{{- end -}}
