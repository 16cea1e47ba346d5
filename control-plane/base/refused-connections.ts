// Logs the connections that a server refuses: the first one immediately, then at most one line a minute with the number
// of refused connections. For servers that any client can reach.

const everyMs = 60_000;

/** `say` receives a line in the form that the log uses. `server` is a name for people. */
export function noteRefused(
  say: (fields: object, message: string) => void,
  server: string,
  now: () => number = () => performance.now(),
): (why: string, network: string) => void {
  let saidAt = Number.NEGATIVE_INFINITY;
  let refused = 0;
  return (why, network) => {
    refused += 1;
    if (now() - saidAt < everyMs) return;
    say({ why, network, refused }, `${server} refuses connections`);
    saidAt = now();
    refused = 0;
  };
}
