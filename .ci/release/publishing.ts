// What a maintainer does to publish a release. No command of this repository publishes, because what is published cannot
// be taken back: a command that was typed by accident must not do it. Printed by `.ci/release.ts`.
import { packages, tarballOf } from './make.ts';

const image = (program: string, version: string): readonly string[] => [
  `podman load --input images/tollgate-${program}-${version}-linux-amd64.tar.gz`,
  `podman push localhost/tollgate/${program}:${version} docker://$REPOSITORY/${program}:${version}`,
];

/** `out`: the folder of the artefacts, as it is typed. */
export function howToPublish(version: string, out: string): string {
  const steps: readonly (readonly [why: string, ...commands: readonly string[]])[] = [
    [
      'CHANGELOG.md: give the version its date in place of "unreleased", in a commit of its own; everything below is about that commit',
      'npm run check',
    ],
    [
      'Make the artefacts twice; both must have the same checksums, except those of images and of their lists',
      `npm run release -- --dry-run --out ${out}`,
      `npm run release -- --dry-run --out ${out}-again`,
      `diff ${out}/SHA256SUMS ${out}-again/SHA256SUMS`,
    ],
    ['Install from them as a user does', 'npm run test:long -- release'],
    [
      'Sign the version and the checksums',
      `git tag --sign v${version} -m v${version}`,
      `cd ${out}`,
      'gpg --armor --detach-sign SHA256SUMS',
    ],
    [
      'npm, with an account that owns the scope @tollgate: each package after those that it needs',
      ...packages.map(([, name]) => `npm publish --access public ./npm/${tarballOf(name, version)}`),
    ],
    ['PyPI, with an account that owns tollgate-client', 'twine upload python/*'],
    [
      'Images, to a registry and a path that only you can push to',
      'REPOSITORY=registry.example.com/tollgate',
      ...['control-plane', 'sidecar'].flatMap((program) => image(program, version)),
    ],
    ['The chart, to the same registry', `helm push chart/tollgate-${version}.tgz oci://\${REPOSITORY%/*}/charts`],
    ['The tag, and SHA256SUMS, SHA256SUMS.asc and sbom/ where users find them', `git push origin v${version}`],
  ];
  const lines = steps.flatMap(([why, ...commands], at) => [`${at + 1}. ${why}:`, ...commands.map((command) => `     ${command}`)]);
  return [
    'Nothing was published, and no command of this repository publishes: a name that is published once cannot be taken back.',
    'First, the scope @tollgate on npm, the name tollgate-client on PyPI and a registry must be yours; today they are not. Then, by hand:',
    '',
    ...lines,
    '',
    'To make the artefacts and publish nothing: npm run release -- --dry-run',
  ].join('\n');
}
