// Which pods the deployed configuration of the webhook selects: those that want injection, and never those that a
// cluster needs to run.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readSettings } from '../../deploy/inject/settings.ts';
import { names } from '../support/names.ts';

type Labels = Readonly<Record<string, string>>;

interface Selector {
  readonly matchExpressions: readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] }[];
}

interface Webhook {
  readonly failurePolicy: string;
  readonly sideEffects: string;
  readonly namespaceSelector: Selector;
  readonly objectSelector: Selector;
  readonly rules: readonly unknown[];
}

const path = fileURLToPath(new URL('../../deploy/kustomize/injector/injector.yaml', import.meta.url));
/** As `transformers: [../namespace]` of an overlay and the control plane read it in the namespace `tollgate`. */
const text = readFileSync(path, 'utf8').replaceAll(/%NAMESPACE%|\$\(NAMESPACE\)/g, 'tollgate');
const documents = parseAllDocuments(text).map(
  (one) => one.toJS() as { readonly kind: string; readonly webhooks: readonly Webhook[]; readonly data?: Labels },
);
const webhooks = documents.find(({ kind }) => kind === 'MutatingWebhookConfiguration')?.webhooks ?? [];

/** Matches as API servers do: an absent label is in no list. */
const matches = ({ matchExpressions }: Selector, labels: Labels): boolean =>
  matchExpressions.every(({ key, operator, values = [] }) => {
    const value = labels[key];
    if (operator === 'Exists') return value !== undefined;
    if (operator === 'NotIn') return value === undefined || !values.includes(value);
    throw new Error(`${operator} is not known here`);
  });

const inject = (value: string | null): Labels => (value === null ? {} : { 'tollgate.dev/inject': value });

function isAsked(namespace: string, ofNamespace: string | null, ofPod: string | null): boolean {
  const labels = { 'kubernetes.io/metadata.name': namespace, ...inject(ofNamespace) };
  return webhooks.some(
    ({ namespaceSelector, objectSelector }) => matches(namespaceSelector, labels) && matches(objectSelector, inject(ofPod)),
  );
}

const words = [null, 'enabled', 'disabled', 'true'] as const;

test.each([
  [null, [false, true, false, true]],
  ['enabled', [true, true, false, true]],
  ['disabled', [false, true, false, true]],
  // An unknown value must not bypass the webhook: the webhook injects, or rejects the value.
  ['true', [true, true, false, true]],
] as const)('in a namespace labelled %s, pods without a label, enabled, disabled and true', (ofNamespace, asked) => {
  expect(words.map((ofPod) => isAsked('agents', ofNamespace, ofPod))).toEqual(asked);
});

test.each(['kube-system', 'kube-public', 'kube-node-lease', 'tollgate'])('%s is never selected, whatever its labels are', (namespace) => {
  const answers = words.flatMap((ofNamespace) => words.map((ofPod) => isAsked(namespace, ofNamespace, ofPod)));
  expect(new Set(answers)).toEqual(new Set([false]));
});

test('a selected pod is not created without the webhook, only new pods are selected, and a dry run changes nothing', () => {
  expect(webhooks).toHaveLength(2);
  for (const { failurePolicy, sideEffects, rules } of webhooks) {
    expect([failurePolicy, sideEffects]).toEqual(['Fail', 'None']);
    expect(rules).toEqual([{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'], scope: 'Namespaced' }]);
  }
});

test.each([
  ['settings.yaml', { enrol: null, environment: { TOLLGATE_ALLOW_PLAINTEXT: 'true' } }],
  ['settings-mtls.yaml', { enrol: 'tollgate.tollgate.svc:8082', environment: {} }],
])('the deployed %s are refused until they name the repository of the images, and then accepted', (file, link) => {
  const deployed = documents.find(({ kind }) => kind === 'ConfigMap')?.data?.[file] ?? '';
  expect(readSettings(parse(deployed))).toEqual({
    problems: [
      { path: 'image', message: expect.stringMatching(/^must be the sidecar's image as you published it, such as registry\.example\.com/) },
    ],
  });
  const named = deployed.replace(names.images.placeholderRepository, 'registry.example.com/tollgate');
  expect(readSettings(parse(named))).toMatchObject({
    settings: {
      image: expect.stringMatching(/^registry\.example\.com\/tollgate\/sidecar:/),
      controlPlane: 'tollgate.tollgate.svc:8081',
      mode: 'native',
      ...link,
    },
  });
});
