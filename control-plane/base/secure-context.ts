// The options of TLS that all our HTTPS servers share.

/** PEM. */
export interface ServerCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** Returns the options of TLS that have the certificate. */
export const contextOf = ({ certificate, key }: ServerCertificate) => ({ cert: certificate, key, minVersion: 'TLSv1.2' as const });
