// Explains that a port is taken by another program, and which variable sets another port.

export class AddressTaken extends Error {
  override readonly name = 'AddressTaken';
}

export const explainTaken =
  (host: string, port: number, variable: string) =>
  (error: unknown): never => {
    if (!(error instanceof Error && /\bEADDRINUSE\b/.test(error.message))) throw error;
    throw new AddressTaken(`${host}:${port} is used by another program; set ${variable} to another port`, { cause: error });
  };
