// What holds for every injected pod: injecting twice equals injecting once, an older injection leaves nothing behind,
// and the patch of the webhook gives the result of the function.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { diff } from '../../deploy/inject/json-patch.ts';
import { inject, type Injection } from '../../deploy/inject/inject.ts';
import type { Pod } from '../../deploy/inject/pod.ts';
import { type InjectSettings, readSettings } from '../../deploy/inject/settings.ts';
import { casesOf } from '../support/case-count.ts';
import { applyPatch } from './apply-patch.ts';

function settingsWith(more: object): InjectSettings {
  const read = readSettings({ image: 'sidecar:1', controlPlane: 'tollgate:8081', ...more });
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return read.settings;
}

function podOf(done: Injection): Pod {
  if (done.kind !== 'injected') throw new Error(JSON.stringify(done));
  return done.pod;
}

const name = fc.constantFrom('app', 'helper', 'proxy', 'a', 'b');
const optional = <T>(field: string, value: fc.Arbitrary<T>): fc.Arbitrary<object> =>
  fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 3, arbitrary: value.map((one) => ({ [field]: one })) });
const merged = (...parts: readonly fc.Arbitrary<object>[]): fc.Arbitrary<object> =>
  fc.tuple(...parts).map((all) => Object.assign({}, ...all) as object);

const variable = fc.record({ name: fc.constantFrom('A', 'TOLLGATE_KEY', 'TOLLGATE_SIDECAR', 'B'), value: fc.string({ maxLength: 5 }) });
const byName = { selector: ({ name }: { readonly name: string }) => name };
const containerNamed = (names: fc.Arbitrary<string>) =>
  merged(
    names.map((one) => ({ name: one })),
    optional('env', fc.oneof(fc.constant(null), fc.uniqueArray(variable, { maxLength: 4, ...byName }))),
    optional('ports', fc.array(fc.record({ containerPort: fc.integer({ min: 1, max: 9_000 }) }), { maxLength: 2 })),
    optional('image', fc.string({ maxLength: 5 })),
  ) as fc.Arbitrary<{ readonly name: string }>;
const containers = (minLength: number, names: fc.Arbitrary<string>) =>
  fc.uniqueArray(containerNamed(names), { minLength, maxLength: 3, ...byName });
const annotations = merged(
  optional('tollgate.dev/agent', fc.constantFrom('triage', 'clerk ü')),
  optional('tollgate.dev/tier', fc.constantFrom('api', 'background')),
  optional('tollgate.dev/port', fc.constantFrom('9091', '19090')),
  optional('tollgate.dev/spool', fc.constantFrom('emptyDir', 'hostPath')),
  optional('tollgate.dev/gateway-secret', fc.constant('gateway')),
  optional('a/b~c', fc.string({ maxLength: 5 })),
  optional('kubectl.kubernetes.io/default-container', name),
);
const pod = fc.record(
  {
    metadata: merged(optional('name', fc.constant('web')), optional('annotations', annotations)),
    spec: merged(
      containers(1, name).map((all) => ({ containers: all })),
      optional(
        'initContainers',
        containers(
          0,
          name.map((one) => `init-${one}`),
        ),
      ),
      optional('volumes', fc.uniqueArray(fc.record({ name, emptyDir: fc.constant({}) }), { maxLength: 2, ...byName })),
      optional('terminationGracePeriodSeconds', fc.integer({ min: 0, max: 100 })),
      optional('restartPolicy', fc.constant('Always')),
    ),
  },
  { requiredKeys: ['spec'] },
);
const pem = '-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n';
const settings = fc
  .record({
    mode: fc.constantFrom('native', 'plain'),
    image: fc.constantFrom('sidecar:1', 'sidecar:2'),
    drainSeconds: fc.integer({ min: 1, max: 20 }),
    spool: fc.constantFrom('emptyDir', 'hostPath'),
    agentKeySecret: fc.constantFrom('one', 'two'),
    link: fc.constantFrom(
      {},
      { enrol: 'tollgate:8082', ca: pem },
      { ca: pem },
      { certificateSecret: 'certificate' },
      { metricsPort: 9_464 },
    ),
  })
  .map(({ link, ...rest }) => settingsWith({ ...rest, ...link }));

const numRuns = casesOf(4_000);

describe('every pod', () => {
  test('is the same when it is injected twice, and then needs no patch', () => {
    fc.assert(
      fc.property(pod, settings, (before, how) => {
        const once = podOf(inject(before, how));
        const twice = podOf(inject(once, how));
        expect(twice).toEqual(once);
        expect(diff(once, twice)).toEqual([]);
      }),
      { numRuns },
    );
  });

  test('that another version injected, with other settings, becomes what would be injected now', () => {
    fc.assert(
      fc.property(pod, settings, settings, (before, older, now) => {
        const brought = podOf(inject(podOf(inject(before, older)), now));
        // A list that existed and was empty may be removed.
        expect(withoutEmpty(brought)).toEqual(withoutEmpty(podOf(inject(before, now))));
      }),
      { numRuns },
    );
  });

  test('is patched to the result of the function, and the given pod is not changed', () => {
    fc.assert(
      fc.property(pod, settings, (before, how) => {
        const kept = structuredClone(before);
        const after = podOf(inject(before, how));
        expect(applyPatch(before, JSON.parse(JSON.stringify(diff(before, after))))).toEqual(JSON.parse(JSON.stringify(after)));
        expect(before).toEqual(kept);
      }),
      { numRuns },
    );
  });

  test('gets the sidecar as its first container, and keeps the values of its variables', () => {
    fc.assert(
      fc.property(pod, settings, (before, how) => {
        const { spec } = podOf(inject(before, how));
        expect((how.mode === 'native' ? spec.initContainers : spec.containers)?.[0]?.name).toBe('tollgate');
        const was = (before.spec as Pod['spec']).containers;
        for (const { name: of, env } of was)
          expect(spec.containers.find(({ name: other }) => other === of)?.env).toEqual(expect.arrayContaining([...(env ?? [])]));
      }),
      { numRuns },
    );
  });
});

const json = fc.jsonValue({ maxDepth: 4 });

test('a patch between any two values turns one into the other', () => {
  const named = fc.array(fc.record({ name: fc.constantFrom('a', 'b', 'c'), value: json }), { maxLength: 4 });
  const value = fc.oneof(json, named, fc.dictionary(fc.constantFrom('a', 'b~/', '~1', ''), fc.oneof(named, json)));
  fc.assert(
    fc.property(value, value, (before, after) => {
      expect(applyPatch(before, diff(before, after))).toEqual(after);
    }),
    { numRuns: numRuns * 2 },
  );
});

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, one]) => one !== null && !(Array.isArray(one) && one.length === 0));
  return Object.fromEntries(kept.map(([key, one]) => [key, withoutEmpty(one)]));
}

test('settings name every mistake with its place', () => {
  const read = readSettings({
    controlPlane: 'tollgate',
    mode: 'x',
    resources: { limits: { memory: 512 } },
    environment: { TOLLGATE_KEY: 'k', lower: '' },
  });
  expect('problems' in read ? read.problems.map(({ path, message }) => `${path} ${message}`) : read).toEqual([
    "image is required: set it to the sidecar's image as you published it, such as registry.example.com/tollgate/sidecar:<version>",
    'controlPlane must be host:port',
    'mode must be "native" or "plain"',
    'resources.limits.memory must be a string',
    'environment["TOLLGATE_KEY"] is given by injection itself',
    'environment["lower"] must be the name of a variable: A-Z, 0-9 and _',
  ]);
});

const digest = `sha256:${'0a'.repeat(32)}`;

test.each([
  'sidecar:1',
  'registry.example.com/tollgate/sidecar:0.1.0',
  `registry.example.com:5000/a_b/c--d/e.f/sidecar:V1.0-x_y@${digest}`,
  `[2001:db8::1]:5000/sidecar@${digest}`,
  'localhost/sidecar',
])('%s is the name of an image', (image) => {
  expect(readSettings({ image, controlPlane: 'tollgate:8081' })).toMatchObject({ settings: { image } });
});

test.each([
  '',
  'IMAGE_REPOSITORY_IS_REQUIRED/sidecar:0.1.0',
  'registry.example.com/Tollgate/sidecar',
  'https://registry.example.com/sidecar',
  'registry.example.com/sidecar:',
  'registry.example.com//sidecar',
  'sidecar@sha256:0a',
  'side car',
  `${'a-'.repeat(499)}A`,
])('%j is not the name of an image, and the refusal says what would be', (image) => {
  const read = readSettings({ image, controlPlane: 'tollgate:8081' });
  const message = "must be the sidecar's image as you published it, such as registry.example.com/tollgate/sidecar:<version>";
  expect(read).toEqual({ problems: [{ path: 'image', message }] });
});

test.each([
  [
    { enrol: 'a:1', ca: pem, certificateSecret: 'b' },
    'certificateSecret cannot be used with enrol and ca, because the secret already contains certificates and authorities; use either the secret or the other settings',
  ],
  [{ ca: 'no' }, 'ca must be certificates as PEM, and nothing between them'],
  [{ enrol: 'tollgate' }, 'enrol must be host:port'],
  [{ metricsPort: 9_090 }, 'metricsPort must not be 9090, because the setting "port" has this value'],
  [{ environment: { TOLLGATE_CA: pem } }, 'environment["TOLLGATE_CA"] is given by injection itself'],
])('settings %j are rejected', (more, why) => {
  const read = readSettings({ image: 'sidecar:1', controlPlane: 'tollgate:8081', ...more });
  expect('problems' in read ? read.problems.map(({ path, message }) => `${path} ${message}`) : read).toEqual([why]);
});

test('without authorities no pod is injected that would enrol', () => {
  const done = inject({ spec: { containers: [{ name: 'app' }] } }, settingsWith({ enrol: 'tollgate:8082' }));
  expect(done).toEqual({
    kind: 'refused',
    problems: [{ path: 'settings.ca', message: 'is required together with "enrol": set it to the authorities that `tollgate ca` prints' }],
  });
});

test('a metrics port that another container or the sidecar itself uses is rejected', () => {
  const pod = (containerPort: number, port: string) => ({
    metadata: { annotations: { 'tollgate.dev/port': port } },
    spec: { containers: [{ name: 'app', ports: [{ containerPort }] }] },
  });
  const problems = (done: Injection) => (done.kind === 'refused' ? done.problems.map(({ path, message }) => `${path} ${message}`) : []);
  const how = settingsWith({ metricsPort: 9_464 });
  expect(problems(inject(pod(9_464, '9090'), how))).toEqual([
    'spec.containers[0].ports[0].containerPort 9464 is where the sidecar shows its metrics, by metricsPort of the settings',
  ]);
  expect(problems(inject(pod(1, '9464'), how))).toEqual([
    'metadata.annotations["tollgate.dev/port"] must not be 9464, because this port is the value of "metricsPort" in the settings',
  ]);
});

test('only the sidecar mounts what it presents to its control plane', () => {
  for (const more of [{ enrol: 'tollgate:8082', ca: pem }, { certificateSecret: 'certificate' }]) {
    const { spec } = podOf(inject({ spec: { initContainers: [{ name: 'a' }], containers: [{ name: 'b' }] } }, settingsWith(more)));
    const mounting = [...(spec.initContainers ?? []), ...spec.containers].filter(({ volumeMounts = [] }) =>
      volumeMounts.some(({ name: volume }) => volume === 'tollgate-token' || volume === 'tollgate-tls'),
    );
    expect(mounting.map(({ name: of }) => of)).toEqual(['tollgate']);
  }
});

/** Expands a value as the kubelet does: `$(NAME)` becomes another variable where there is one, and `$$` becomes `$`. */
const expanded = (value: string, known: Readonly<Record<string, string>>): string =>
  value.replaceAll(/\$\$|\$\(([^)]*)\)/g, (found, of?: string) => (of === undefined ? '$' : (known[of] ?? found)));

test('no text of a pod or of the settings is replaced by another variable, such as the key', () => {
  for (const word of ['$(TOLLGATE_KEY)', '$$(TOLLGATE_KEY)', '$$', 'a$b', '$$$(TOLLGATE_KEY)$']) {
    const template = { metadata: { annotations: { 'tollgate.dev/agent': word } }, spec: { containers: [{ name: 'app' }] } };
    const { spec } = podOf(inject(template, settingsWith({ environment: { EXTRA: word } })));
    const given = new Map(
      (spec.initContainers?.[0]?.env ?? []).map(({ name: of, value }) => [of, expanded(String(value), { TOLLGATE_KEY: 'gsk_' })]),
    );
    expect([given.get('TOLLGATE_PIN_AGENT'), given.get('EXTRA')]).toEqual([word, word]);
  }
});

test('a pod with as many variables, volumes and labels as an API server allows is answered like any other', () => {
  const many = Array.from({ length: 80_000 }, (_, at) => ({ name: `n${at}` }));
  const before = { spec: { containers: [{ name: 'app', env: many }], volumes: many } };
  const patch = diff(before, podOf(inject(before, settingsWith({}))));
  expect(patch.length).toBeLessThan(20);
  const crowd = inject({ spec: { containers: many } }, settingsWith({}));
  expect(crowd).toEqual({
    kind: 'refused',
    problems: [{ path: 'spec.containers', message: 'must contain at most 1000 containers, including the init containers of the pod' }],
  });
});

test('a status that names foreign entries removes nothing else', () => {
  const status = {
    format: 1,
    environment: { app: ['PATH', 'TOLLGATE_KEY'] },
    volumes: ['data'],
    graceSeconds: { now: 7 },
    defaultContainer: false,
  };
  const before = {
    metadata: { annotations: { 'tollgate.dev/status': JSON.stringify(status) } },
    spec: {
      containers: [{ name: 'app', env: [{ name: 'PATH', value: '/' }] }],
      volumes: [{ name: 'data' }],
      terminationGracePeriodSeconds: 8,
    },
  };
  const { spec } = podOf(inject(before, settingsWith({})));
  expect(spec.containers[0]?.env).toContainEqual({ name: 'PATH', value: '/' });
  expect(spec.volumes).toContainEqual({ name: 'data' });
  expect(spec.terminationGracePeriodSeconds).toBe(18);
});
