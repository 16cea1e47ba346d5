// Explains TLS errors of a refused connection, in words for the person who has to fix it.

const words: readonly (readonly [RegExp, string])[] = [
  [/alert certificate required/, 'the control plane requires a certificate of this sidecar: set TOLLGATE_ENROL or TOLLGATE_TLS_DIR'],
  [/alert certificate expired/, "the control plane says that this sidecar's certificate has expired"],
  [/alert unknown ca/, "the control plane does not know the authority of this sidecar's certificate"],
  [
    /unable to (?:verify|get)|self-signed|certificate signature failure/,
    'the certificate of the control plane was not issued by an authority that this sidecar trusts',
  ],
  [/certificate has expired/, 'the certificate of the control plane has expired'],
  [/wrong version number|packet length too long/, 'this port of the control plane uses plain text, and this sidecar expects TLS'],
  [
    /Last error: Failed to connect/,
    'the server closes the connection at once: it may require TLS, as a control plane with TOLLGATE_ENROL_PORT or TOLLGATE_TLS_DIR does',
  ],
];

/** Returns the problem with an explanation. Returns `problem` itself if there is nothing to add. */
export function explainLink(problem: string): string {
  const found = words.find(([pattern]) => pattern.test(problem));
  return found === undefined ? problem : `${found[1]} (${problem.replaceAll(/\s+/g, ' ').trim()})`;
}
