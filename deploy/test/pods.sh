#!/usr/bin/env bash
# shellcheck disable=SC2016 # programs for node
# pods.sh: runs an agent in a pod that `tollgate inject` made, a control plane and PostgreSQL, each a pod of `podman
# kube play`. The agent calls tools continuously, while containers are killed. Then its own record is compared with the
# audit log: every call that was answered has its entry, and none has two. deploy/README.md, "Tests", names the programs
# that it needs.
#
# TEST_SEED=<number>: repeats the rounds of that run, in their order and with their waits.
set -euo pipefail
# shellcheck source=deploy/test/apart
. "$(dirname "$0")/apart"
# shellcheck source=deploy/test/checks
. deploy/test/checks
pods=/run/tollgate-test/pods
record=$pods/said/calls.ndjson
plane=http://10.99.9.20:8080
limit=40
seed=${TEST_SEED:-$((RANDOM * 32768 + RANDOM))}

play() { # <pod> <address> [file]
  quietly podman kube play --network agents --ip "$2" "${3:-deploy/test/pods/$1.yaml}"
}
secret() { printf '{"key": "%s"}' "$(printf %s "$2" | base64 -w0)" | podman secret create "$1" - >/dev/null; }
folder() { install -d -o "$2" -g "$2" -m 700 "$pods/$1"; }
pid_of() { podman inspect --format '{{.State.Pid}}' "$1"; }
plane_ready() { until_true 60 curl -sf --max-time 2 $plane/readyz; }
database_ready() { until_true 60 podman exec database-postgresql /usr/lib/postgresql/15/bin/pg_isready -q -h 127.0.0.1; }
# roll <sides>: the next number of the seed, in `rolled`. RANDOM is not used, because each subshell seeds it again.
state=$((seed % 2147483648))
roll() { state=$(((state * 1103515245 + 12345) % 2147483648)) rolled=$((state / 65536 % $1)); }
pause() { # <least> <most>, ms
  roll $(($2 - $1))
  sleep "$(printf '%d.%03d' $((($1 + rolled) / 1000)) $((($1 + rolled) % 1000)))"
}

podman network create --disable-dns --subnet 10.99.9.0/24 agents >/dev/null
mkdir -p $pods/app
cp deploy/test/pods/agent.mjs $pods/app
folder database 999
for name in control-plane said spool; do folder $name 65532; done
secret owner "$owner_key"
secret sealing "$(new_key)"
play database 10.99.9.10
play control-plane 10.99.9.20
must 'PostgreSQL is ready' database_ready
must 'the control plane is ready' plane_ready

key_of() { ask $plane/default/admin/keys -d "$1" | field key; }
secret sidecar-key "$(key_of '{"name": "sidecar", "scopes": ["sidecar.sync"]}')"
secret agent-key "$(key_of '{"name": "agent", "scopes": ["govern"]}')"
# A later change of the log must be detectable: the key that signs it is kept with neither the log nor the checkpoint.
checkpoint() { tollgate audit checkpoint -o /kept/checkpoint; }
tollgate() {
  podman run --rm --interactive --network agents --read-only --cap-drop ALL --volume "$work/kept:/kept" --volume "$PWD/deploy/test/pods:/pods:ro" \
    --env TOLLGATE_ALLOW_PLAINTEXT=true --env TOLLGATE_URL=$plane --env TOLLGATE_KEY="$owner_key" localhost/tollgate-test/control-plane "$@" 2> >(grep -v 'systemd connection' >&2)
}
install -d -o 65532 -g 65532 "$work/kept"
must 'policy is taken' ask -X PUT $plane/default/admin/workspacePolicy -d "{\"tools\": {\"notes.delete\": {\"api\": {\"permission\": \"deny\"}}, \"notes.count\": {\"api\": {\"rateLimit\": $limit}}}}"

tollgate ca >"$work/kept/ca.pem"
inject() { tollgate --json inject --file /pods/agent.yaml --settings /pods/settings.yaml --enrol 10.99.9.20:8082 --ca /kept/ca.pem >"$work/injected.json"; }
must 'tollgate inject makes the pod' inject
node deploy/test/pods/for-podman.mjs "$work/injected.json" >"$work/agent.json"
# Runs a command as a kubelet runs a program of the sidecar's container; podman does not run these, or only in a shell
# that they are not written for.
run_of() { # <field of the container>
  local words
  mapfile -d '' words < <(node -e '
    const { spec } = JSON.parse(require("node:fs").readFileSync(process.argv[1], "utf8"));
    const { exec } = process.argv[2].split(".").reduce((of, name) => of[name], spec.containers[0]);
    for (const word of exec.command) process.stdout.write(`${word}\0`);' "$work/agent.json" "$1")
  podman exec agent-tollgate "${words[@]}"
}
must 'podman plays the pod' play agent 10.99.9.30 "$work/agent.json"
holds 'the pod has two containers, and the first is the sidecar' is "$(podman ps --all --filter pod=agent --format '{{.Names}}' --sort created | grep -v infra | paste -sd ' ')" 'agent-tollgate agent-app'
must 'its postStart hook waits for policy' run_of lifecycle.postStart
holds 'its liveness probe answers' run_of livenessProbe
has_certificate() { in_node agent-tollgate 'fetch("http://127.0.0.1:9090/metrics").then((answer) => answer.text()).then((text) => process.exit(text.includes("tollgate_certificate_expires_seconds{certificate=\"client\"}") ? 0 : 1))'; }
is_refused_without() { node -e '
  const socket = require("node:tls").connect({ host: "10.99.9.20", port: 8081, ALPNProtocols: ["h2"], rejectUnauthorized: false });
  socket.on("data", () => process.exit(1)).setTimeout(5_000, () => process.exit(1));
  socket.on("error", ({ code }) => { console.log(code); process.exit(code.includes("CERTIFICATE_REQUIRED") ? 0 : 1); });'; }
holds 'the sidecar has enrolled by its key, and has a certificate' has_certificate
holds 'gRPC refuses connections without one' is_refused_without
for container in agent-tollgate control-plane-control-plane; do
  holds "$container runs as the user nobody, without capabilities" is_nobody $container
  holds "$container: its file system is read-only" is_read_only $container
done
must 'the agent is answered' answered_more 50
holds 'a checkpoint of the log is kept' checkpoint

# Kills as a machine that is out of memory does: by process id. podman starts the container again immediately, as a
# kubelet would.
kill_at_once() { kill -KILL "$(pid_of "$1")"; }
# Kills the container, and starts it again after a while. Another container may be killed meanwhile.
kill_for_a_while() { # <container> [what happens meanwhile…]
  local container=$1
  shift
  quietly podman kill "$container"
  [ $# = 0 ] || { pause 0 500; "$@"; }
  answered_more 20 || return 1
  pause 0 1500
  quietly podman start "$container"
}
sidecar=agent-tollgate
declare -A rounds=(
  ['the sidecar is killed']="kill_at_once $sidecar"
  ['the sidecar is killed twice']="kill_at_once $sidecar; pause 0 1000; kill_at_once $sidecar"
  ['the control plane is killed']='kill_at_once control-plane-control-plane'
  ['the control plane is away']='kill_for_a_while control-plane-control-plane'
  ['the sidecar is killed while the control plane is away']="kill_for_a_while control-plane-control-plane kill_at_once $sidecar"
  ['PostgreSQL is killed']='kill_at_once database-postgresql'
  ['PostgreSQL is away']='kill_for_a_while database-postgresql'
  ['the sidecar is killed while PostgreSQL is away']="kill_for_a_while database-postgresql kill_at_once $sidecar"
  ['the agent is killed']='kill_at_once agent-app'
)
mapfile -t order < <(printf '%s\n' "${!rounds[@]}" | sort)
for ((last = ${#order[@]} - 1; last > 0; last--)); do
  roll $((last + 1))
  other=${order[rolled]}
  order[rolled]=${order[last]}
  order[last]=$other
done
round() { eval "$1"; answered_more 20; }
printf 'rounds of seed %d (TEST_SEED=%d repeats them)\n' "$seed" "$seed"
for name in "${order[@]}"; do
  pause 200 1000
  holds "$name: calls are answered all the while, or again" round "${rounds[$name]}"
done
# A kubelet retries without a limit; podman tries once to restart a killed container, and that sometimes fails.
for container in database-postgresql control-plane-control-plane agent-tollgate agent-app; do
  if [ "$(podman inspect --format '{{.State.Status}}' "$container")" != running ]; then
    printf 'podman has not started %s again: that is done now\n' "$container"
    quietly podman start "$container"
  fi
done
must 'the control plane is ready in the end' plane_ready
must 'and the agent is answered' answered_more 20

# Ends a pod as a kubelet does: the app receives SIGTERM while the sidecar's preStop hook runs; then the sidecar
# receives it.
stop() { quietly podman stop --time 20 "$1" && is "$(podman inspect --format '{{.State.ExitCode}}' "$1")" 0; }
end_pod() {
  run_of lifecycle.preStop &
  stop agent-app
  wait $!
  stop $sidecar
}
holds 'SIGTERM: the app and then the sidecar end by themselves, with 0' end_pod
export_log() { ask --max-time 60 -o "$work/log.ndjson" $plane/default/admin/audit/export; }
must 'the log is exported' export_log
holds 'the app was answered to its end' entries answered-to-the-end
holds 'the sidecar has left nothing on its spool' is "$(find $pods/spool -name '*.segment' | wc -l)" 0
holds 'every call that was answered has one entry, which says the same' entries answered-once
holds 'every outcome that was taken has one entry' entries outcome-once
holds 'every entry is of a call that was sent, and no call has two' entries nothing-else
holds "policy held: what is denied was denied, and the limit of $limit was never passed" entries policy
# The checks detect the errors that they are written for.
not() { ! "$@"; }
awk '!(/PreToolUse/ && ++calls == 9)' "$work/log.ndjson" >"$work/less.ndjson"
{ cat "$work/log.ndjson"; grep -m 1 PostToolUse "$work/log.ndjson"; } >"$work/twice.ndjson"
holds 'a log without one of the entries is found out' not entries answered-once "$work/less.ndjson"
holds 'a log with an entry twice is found out' not entries outcome-once "$work/twice.ndjson"
holds 'the log is exported with its proof' tollgate audit export --proof -o /kept/proof
tollgate audit keys >"$work/kept/keys"
holds 'tollgate audit verify: nothing was changed since the checkpoint' tollgate audit verify /kept/proof --checkpoint /kept/checkpoint --public-key /kept/keys
entries figures
count_checks pods
