// for-podman.mjs <pod as JSON>: converts the pod to a form that podman can play. podman has no service accounts, so the
// sidecar enrols with its key, as one does without a token. podman accepts no annotation of more than 63 characters;
// only injection itself reads one that long.
import { readFileSync } from 'node:fs';

const pod = JSON.parse(readFileSync(process.argv[2], 'utf8'));
delete pod.metadata.annotations['tollgate.dev/status'];
const tokens = pod.spec.volumes.filter(({ projected }) => projected !== undefined).map(({ name }) => name);
pod.spec.volumes = pod.spec.volumes.filter(({ name }) => !tokens.includes(name));
for (const container of pod.spec.containers) {
  container.env = container.env.filter(({ name }) => name !== 'TOLLGATE_TOKEN_FILE');
  container.volumeMounts = container.volumeMounts.filter(({ name }) => !tokens.includes(name));
}
process.stdout.write(`${JSON.stringify(pod, null, 2)}\n`);
