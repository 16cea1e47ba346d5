import { expect, test } from 'vitest';
import { type GivenTls, optionNames, readTls, variableNames } from '../../../../../sidecar/engine/link/tls/options.ts';
import { connect } from '../../../../../sidecar/index.ts';
import { makeAuthority } from '../../../../support/authorities.ts';

const ca = makeAuthority('one').certificate;
const none: GivenTls = { ca: null, enrol: null, tokenFile: null, folder: null };

test.each<readonly [Partial<GivenTls>, unknown]>([
  [{}, null],
  [{ ca }, { kind: 'checked', ca }],
  [
    { ca, enrol: 'plane:8082' },
    { kind: 'enrolled', ca, enrol: 'plane:8082', tokenFile: null },
  ],
  [
    { ca, enrol: '[::1]:8082', tokenFile: '/t' },
    { kind: 'enrolled', ca, enrol: '[::1]:8082', tokenFile: '/t' },
  ],
  [{ folder: '/tls' }, { kind: 'given', folder: '/tls' }],
])('%j is a valid form', (given, tls) => {
  expect(readTls({ ...none, ...given }, variableNames)).toEqual({ tls });
});

test('authorities in one line are equal to those in many lines', () => {
  expect(readTls({ ...none, ca: ca.replaceAll('\n', String.raw`\n`) }, variableNames)).toEqual({ tls: { kind: 'checked', ca } });
});

test.each<readonly [Partial<GivenTls>, readonly string[]]>([
  [{ enrol: 'plane:8082' }, ['TOLLGATE_ENROL needs TOLLGATE_CA: the authorities by which the issuing server is checked']],
  [
    { ca: 'no', enrol: 'plane' },
    ['TOLLGATE_CA must be certificates of authorities as PEM, from -----BEGIN CERTIFICATE----- on', 'TOLLGATE_ENROL must be host:port'],
  ],
  [
    { ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' },
    ['TOLLGATE_CA must be certificates of authorities as PEM, from -----BEGIN CERTIFICATE----- on'],
  ],
  [
    { ca, enrol: 'plane:8082', folder: '/tls' },
    [
      'TOLLGATE_TLS_DIR cannot be used with TOLLGATE_CA and TOLLGATE_ENROL: its folder holds certificate, key and authorities; set one or the other',
    ],
  ],
  [{ ca, tokenFile: '/t' }, ['TOLLGATE_TOKEN_FILE needs TOLLGATE_ENROL: the token is only used to request certificates there']],
])('%j is rejected', (given, problems) => {
  expect(readTls({ ...none, ...given }, variableNames)).toEqual({ problems });
});

test('the library names its own options in rejections', async () => {
  const given = { enrol: 'plane:8082' };
  expect(readTls({ ...none, ...given }, optionNames)).toEqual({
    problems: ['tls.enrol needs tls.ca: the authorities by which the issuing server is checked'],
  });
  const options = { controlPlane: 'plane:8081', key: 'gsk_acme_x', tls: { ca: 'no' } };
  await expect(connect(options)).rejects.toMatchObject({ code: 'bad_request', message: expect.stringMatching(/^tls\.ca must be/) });
});
