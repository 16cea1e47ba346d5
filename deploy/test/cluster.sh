#!/usr/bin/env bash
# shellcheck disable=SC2016,SC2086 # programs for node; addresses
# cluster.sh: tests the chart on a real Kubernetes of one node. It installs the chart as the notes say, runs pods with
# sidecars that enrol by the token of their account, makes calls while the control plane is replaced, moved and away,
# and ends pods and Jobs. Then it compares the agent's own record with the audit log. It is part of `npm run test:long`,
# not of CI: the first run compiles Kubernetes. deploy/README.md, "Tests", names the programs that it needs.
set -euo pipefail
more_packages=(etcd-server=/usr/bin/etcd containerd=/usr/bin/containerd runc=/usr/sbin/runc openssl=/usr/bin/openssl)
case ${TEST_APART:-} in
  # No namespace isolates cgroups. The cgroups of containers that have ended with this test are empty.
  '') trap 'find /sys/fs/cgroup/{*/,}k8s.io -depth -type d -exec rmdir {} + 2>/dev/null' EXIT ;;
  building)
    programs=$("$(dirname "$0")/build-kubernetes")
    export PATH=$programs:$PATH
    ;;
esac
# shellcheck source=deploy/test/apart
. "$(dirname "$0")/apart"
# shellcheck source=deploy/test/checks
. deploy/test/checks
# shellcheck source=deploy/test/cluster/start
. deploy/test/cluster/start
chart=deploy/helm/tollgate
files=deploy/test/cluster
record=$here/said/calls.ndjson
limit=40
export HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm

gate() { kubectl --namespace tollgate "$@"; }
agents() { kubectl --namespace agents "$@"; }
not() { ! "$@"; }
# volume <name> <owner> <namespace> <claim>: a folder of the node, for one claim.
volume() {
  install -d -o "$2" -g "$2" -m 700 "$here/$1"
  kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolume
metadata: { name: $1 }
spec: { capacity: { storage: 8Gi }, accessModes: [ReadWriteOnce], claimRef: { namespace: $3, name: $4 }, hostPath: { path: $here/$1 } }
END
}
# Creates a namespace with its Pod Security labels; Pod Security refuses pods, and warns about objects that create pods.
namespace() { # <name> <label…>
  kubectl create namespace "$1" && kubectl label namespace "$1" pod-security.kubernetes.io/{enforce,warn}=restricted "${@:2}"
}
quiet() { # <command…>: which is told of nothing that is doubtful
  "$@" 2>&1 | tee "$work/told"
  [ "${PIPESTATUS[0]}" = 0 ] && ! grep -i warning "$work/told"
}

must 'a cluster of one node is ready' start_cluster
printf 'Kubernetes %s\n' "$(kubectl version -o json | node -p 'JSON.parse(require("fs").readFileSync(0)).serverVersion.gitVersion')"
namespace tollgate >/dev/null
namespace agents tollgate.dev/inject=enabled >/dev/null
namespace spared tollgate.dev/inject=enabled >/dev/null
namespace others >/dev/null

# Applies kustomize output as the API server would accept it.
overlay() { # <component…>
  local from=deploy/kustomize one
  mkdir -p "$work/overlay"
  printf 'namespace: tollgate\nresources: [%s]\ncomponents: [' "$(realpath --relative-to="$work/overlay" $from/base)"
  for one in "$@"; do printf '%s, ' "$(realpath --relative-to="$work/overlay" "$from/$one")"; done
  printf ']\ntransformers: [%s]\n' "$(realpath --relative-to="$work/overlay" $from/namespace)"
}
takes() { # <component…>
  overlay "$@" >"$work/overlay.yaml" && mv "$work/overlay.yaml" "$work/overlay/kustomization.yaml"
  kubectl kustomize "$work/overlay" | quiet kubectl apply --server-side --dry-run=server --validate=strict -f -
}
holds 'kustomize base is taken by the API server' takes
holds 'and with autoscaling, mtls and the injector' takes autoscaling mtls injector
# The definitions of the Prometheus operator and of the Gateway API are not installed.
takes_everything() {
  helm template everything $chart --namespace tollgate --kube-version 1.35.0 --values $chart/ci/everything-values.yaml --set monitoring.enabled=false --set httpRoute.enabled=false |
    quiet kubectl apply --namespace tollgate --server-side --dry-run=server --validate=strict -f -
}
holds 'and the chart with every switch thrown' takes_everything

# The README's way to try it, with the output that it prints.
install_for_trying() {
  kubectl create namespace trying
  volume trying 999 trying data-tollgate-postgresql-0
  quiet helm install tollgate $chart --namespace trying --wait --timeout 4m --set image.repository=localhost/tollgate-test,image.tag=latest,image.pullPolicy=Never \
    --set plaintext=true --set ownerKeyInLog=true --set database.bundled.enabled=true --set replicas=1 --set database.bundled.image=localhost/tollgate-test/postgresql:15
}
# noted <namespace> <pattern>: the command of the notes that matches.
noted() { helm get notes tollgate --namespace "$1" | sed -n 's/^  \(kubectl .*'"$2"'.*\)/\1/p'; }
key_from_log() { owner_key=$(bash -c "$(noted trying 'logs')" | grep -o 'gsk_default_[A-Za-z0-9]*' | head -1) && [ -n "$owner_key" ]; }
through_forward() { # <namespace> <path>
  bash -c "exec $(noted "$1" port-forward)" >"$work/forward" 2>&1 &
  until_true 20 ask -o /dev/null "http://127.0.0.1:8080$2"
  local code=$?
  kill $!
  wait $! || true
  return $code
}
holds 'it is installed for trying, as README says' install_for_trying
key_of_the_test=$owner_key
holds 'the notes find the key of its owner' key_from_log
holds 'and lead to it' through_forward trying /default/admin/keys
owner_key=$key_of_the_test
holds 'and it goes' helm uninstall tollgate --namespace trying --wait
kubectl delete namespace trying --wait=false >/dev/null

# The page that leads from ten lines of values to a denied call of a pod, as its reader runs it. What it would pull are
# other names of the images of this test.
page=docs/operate/try-kubernetes.md
name_images() {
  local one
  for one in control-plane sidecar; do ctr --namespace k8s.io images tag localhost/tollgate-test/$one:latest registry.example.com/tollgate/$one:0.1.0; done
  ctr --namespace k8s.io images tag localhost/tollgate-test/postgresql:15 docker.io/library/postgres:17
}
run_page() {
  volume page 999 trial data-tollgate-postgresql-0
  npm run --silent readme:run -- $page --limit-s 300
}
must "the images have the names of $page" name_images
holds "every block of $page does what it says" run_page

install_all() {
  volume database 999 tollgate data-tollgate-postgresql-0
  gate create secret generic tollgate --from-literal=TOLLGATE_OWNER_KEY="$owner_key" --from-literal=TOLLGATE_SECRET_KEY="$(openssl rand -hex 20)"
  openssl genpkey -algorithm ed25519 | gate create secret generic tollgate-checkpoint --from-file=checkpoint-key.pem=/dev/stdin
  quiet helm install tollgate $chart --namespace tollgate --wait --timeout 4m --values $files/values.yaml
}
must 'all of it is installed, in a restricted namespace' install_all
holds 'helm test: REST, gRPC, enrolment and the webhook are reached' helm test tollgate --namespace tollgate
holds 'and again, with the pod of the first test there' helm test tollgate --namespace tollgate
holds 'the notes see it roll out' bash -c "$(noted tollgate 'rollout status')"
holds 'the notes lead to it' through_forward tollgate /default/admin/keys
holds 'the notes name the webhook' bash -c "$(noted tollgate mutatingwebhook) --dry-run=server"
address_of() { gate get service "$1" -o jsonpath='{.spec.clusterIP}'; }
plane=http://$(address_of tollgate):8080
must 'its Service leads to it' until_true 30 curl -sf --max-time 2 "$plane/readyz"
replicas() { gate get pods --selector app.kubernetes.io/component=control-plane --output "${1:-name}"; }
count() { is "$(replicas | wc -l)" "$1"; }

key_of() { ask $plane/default/admin/keys -d "$1" | field key; }
agents create secret generic tollgate-sidecar --from-literal=key="$(key_of '{"name": "sidecar", "scopes": ["sidecar.sync"]}')" >/dev/null
agents create secret generic tollgate-agent --from-literal=key="$(key_of '{"name": "agent", "scopes": ["govern"]}')" >/dev/null
agents create configmap agent --from-file=deploy/test/pods/agent.mjs --from-file=$files/ask.mjs >/dev/null
volume said 65532 agents said >/dev/null
must 'policy is taken' ask -X PUT $plane/default/admin/workspacePolicy -d "{\"tools\": {\"notes.delete\": {\"api\": {\"permission\": \"deny\"}}, \"notes.count\": {\"api\": {\"rateLimit\": $limit}}}}"

start_agent() { quiet agents apply -f $files/agent.yaml && agents rollout status deployment/agent --timeout 120s; }
of_agent() { agents get pods --selector app=agent -o jsonpath="$1"; }
in_sidecar() { agents exec deployment/agent --container tollgate -- node -e "$1"; }
has_certificate() { in_sidecar 'fetch("http://127.0.0.1:9090/metrics").then((answer) => answer.text()).then((text) => process.exit(text.includes("tollgate_certificate_expires_seconds{certificate=\"client\"}") ? 0 : 1))'; }
issued_by_token() {
  local one
  for one in $(replicas "jsonpath={.items[*].status.podIP}"); do ask "http://$one:8080/metrics"; done | grep '^tollgate_certificates_issued_total{by="pod"} [1-9]'
}
must 'an agent starts, in a restricted namespace that asks for sidecars' start_agent
holds 'its sidecar is the first container, and a native one' is "$(of_agent '{.items[0].spec.initContainers[0].name} {.items[0].spec.initContainers[0].restartPolicy}')" 'tollgate Always'
holds 'it has started before the app' not test "$(of_agent '{.items[0].status.containerStatuses[0].state.running.startedAt}')" '<' "$(of_agent '{.items[0].status.initContainerStatuses[0].state.running.startedAt}')"
holds 'it has a certificate' has_certificate
holds 'which was issued by the token of its account' issued_by_token
must 'the agent is answered' answered_more 50

# made_in <namespace>: the init containers that a pod would have if it were created there now.
made_in() { kubectl --namespace "$1" create --dry-run=server -f $files/probe.yaml -o jsonpath='{.spec.initContainers[*].name}'; }
injects() { is "$(made_in agents)" tollgate; }
make_pods() { while [ -e "$work/making" ]; do injects || return 1; sleep 0.1; done; }
# meanwhile <command…>: while the command runs, and until no earlier pod is left, pods are created and every call is
# answered.
meanwhile() {
  local before code=0 maker
  before=$(said failed)
  touch "$work/making"
  make_pods &
  maker=$!
  "$@" && until_true 120 settled || code=1
  rm "$work/making"
  wait $maker || code=1
  answered_more 20 && is "$(said failed)" "$before" && return $code
}
settled() { gate rollout status deployment/tollgate --timeout 120s && count 2; }
evict() { kubectl create --raw "/api/v1/namespaces/tollgate/pods/$1/eviction" -f - <<<"{\"apiVersion\": \"policy/v1\", \"kind\": \"Eviction\", \"metadata\": {\"name\": \"$1\", \"namespace\": \"tollgate\"}}"; }
evict_both() {
  local one two
  read -r one two <<<"$(replicas 'jsonpath={.items[*].metadata.name}')"
  evict "$one" && not evict "$two"
}
upgrade() { quiet helm upgrade tollgate $chart --namespace tollgate --wait --timeout 4m --values $files/values.yaml --set autoscaling.enabled=true; }
holds 'a restart of all replicas: nothing is refused meanwhile' meanwhile gate rollout restart deployment/tollgate
holds 'one replica may be evicted, and not a second: nothing is refused meanwhile' meanwhile evict_both
holds 'an upgrade that begins autoscaling: nothing is refused meanwhile' meanwhile upgrade
holds 'all kinds of objects are there' gate get horizontalpodautoscaler/tollgate poddisruptionbudget/tollgate networkpolicy/tollgate networkpolicy/tollgate-enrolment networkpolicy/tollgate-injector

# Kills the process as a machine that is out of memory does. Inside a container this is not possible.
kill_one() { kill -KILL "$(pgrep -of "node .*@tollgate/$1/bin.js")"; }
restarts() { is "$(of_agent '{.items[0].status.initContainerStatuses[0].restartCount}')" "$1"; }
kill_sidecar() { kill_one sidecar && until_true 60 restarts 1 && answered_more 20; }
kill_replica() { kill_one control-plane && answered_more 50 && until_true 120 settled; }
holds 'the sidecar is killed: it comes back, and answers' kill_sidecar
holds 'a replica is killed: the agent is answered meanwhile' kill_replica

# The certificate of the webhook.
serials() {
  local one
  for one in $(replicas "jsonpath={.items[*].status.podIP}"); do openssl s_client -connect "$one:8443" </dev/null 2>/dev/null | openssl x509 -noout -serial; done | sort -u
}
changed_from() { [ "$(serials | wc -l)" = 1 ] && [ "$(serials)" != "$1" ]; }
renew() {
  local before state
  before=$(serials)
  state=$(gate get secret tollgate-injector -o jsonpath='{.data.state\.json}' | base64 -d | node -p 'JSON.stringify({ ...JSON.parse(require("fs").readFileSync(0)), server: null })' | base64 -w0)
  gate patch secret tollgate-injector --patch "{\"data\": {\"state.json\": \"$state\"}}" && until_true 90 changed_from "$before"
}
begin_again() {
  local before
  before=$(serials)
  gate patch secret tollgate-injector --type=json -p '[{"op": "remove", "path": "/data"}]'
  kubectl patch mutatingwebhookconfiguration tollgate-injector --type=json -p '[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}, {"op": "remove", "path": "/webhooks/1/clientConfig/caBundle"}]'
  until_true 90 changed_from "$before" && until_true 30 injects
}
holds 'a new certificate of the webhook: nothing is refused meanwhile' meanwhile renew
holds 'a new authority of the webhook, as after a leak: pods are injected again' begin_again

# Namespaces and pods that injection must skip.
holds 'a namespace that is spared is left alone, although it asks' is "$(made_in spared)" ''
holds 'so is one that does not ask' is "$(made_in others)" ''
holds 'so is kube-system, whatever a pod says' is "$(sed 's/generateName: probe-/&, labels: { tollgate.dev\/inject: enabled }/' $files/probe.yaml | kubectl --namespace kube-system create --dry-run=server -f - -o jsonpath='{.spec.initContainers[*].name}')" ''

once() { quiet agents apply -f $files/job.yaml && agents wait --for=condition=complete job/once --timeout 120s; }
holds 'a Job asks, in an init container and after, and ends' once
holds 'its sidecar has ended by itself' is "$(agents get pods --selector job-name=once -o jsonpath='{.items[0].status.initContainerStatuses[?(@.name=="tollgate")].state.terminated.exitCode}')" 0

# The case without a control plane.
gone() { gate delete horizontalpodautoscaler tollgate && gate scale deployment/tollgate --replicas 0 && until_true 120 count 0; }
starts_elsewhere() { kubectl --namespace others create -f $files/probe.yaml && kubectl --namespace others wait --for=condition=Ready pod --all --timeout 60s; }
refused() { not made_in agents 2>"$work/refused" && grep 'failed calling webhook "namespace.inject.tollgate.dev"' "$work/refused"; }
late() { sed -e 's/name: agent,/name: late,/' -e 's/app: agent/app: late/' -e 's/replicas: 1//' -e '/^---/,$d' -e "s|command: .*|command: [/bin/sleep, infinity]|" $files/agent.yaml | agents apply -f -; }
holds 'the control plane goes' gone
holds 'without it the agent is answered' answered_more 50
holds 'pods of other namespaces start' starts_elsewhere
holds 'pods that ask for a sidecar are not made' refused
late >/dev/null
gate scale deployment/tollgate --replicas 2 >/dev/null
must 'the control plane is back' settled
holds 'and what was to be made meanwhile is made, with its sidecar' agents rollout status deployment/late --timeout 180s
agents delete deployment late >/dev/null

# A pod ends: first the app, then the sidecar, each without a kill.
ends() { # <pod> <what its last words are> <command…>
  agents get pod "$1" --watch -o jsonpath='{.status.containerStatuses[*].state.terminated.exitCode}/{.status.initContainerStatuses[*].state.terminated.exitCode}{"\n"}' >"$work/ends" &
  local watching=$!
  "${@:3}" && agents wait --for=delete "pod/$1" --timeout 60s
  kill $watching
  wait $watching || true
  cat "$work/ends"
  is "$(tail -1 "$work/ends")" "$2"
}
start_plain() { quiet agents apply -f $files/plain.yaml && agents wait --for=condition=Ready pod/plain --timeout 60s; }
holds 'a pod with a plain sidecar starts' start_plain
holds 'it ends: both by themselves, with 0' ends plain '0 0/' agents delete pod plain --wait=false
holds 'the pod of the agent ends: the app and its sidecar by themselves, with 0' ends "$(of_agent '{.items[0].metadata.name}')" 0/0 agents scale deployment/agent --replicas 0
export_log() { ask --max-time 60 -o "$work/all.ndjson" $plane/default/admin/audit/export && grep '"agentName":"triage"' "$work/all.ndjson" >"$work/log.ndjson"; }
must 'the log is exported' export_log
holds 'both calls of the Job have their entry' is "$(grep -c '"job.run"' "$work/all.ndjson")" 2
holds 'the app was answered to its end' entries answered-to-the-end
holds 'every call that was answered has one entry, which says the same' entries answered-once
holds 'every outcome that was taken has one entry' entries outcome-once
holds 'every entry is of a call that was sent, and no call has two' entries nothing-else
holds "policy held: what is denied was denied, and the limit of $limit was never passed" entries policy
entries figures

uninstall() { helm uninstall tollgate --namespace tollgate --wait && is "$(made_in agents)" '' && gate get secret/tollgate-postgresql persistentvolumeclaim/data-tollgate-postgresql-0; }
holds 'it is uninstalled: pods are made without a sidecar, and its data stays' uninstall

count_checks cluster
