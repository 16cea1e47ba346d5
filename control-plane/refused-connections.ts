// The line of the log about connections that a server refuses: the first at once, and then once a minute at most, with how
// many there were. For the servers that anybody may reach.

const everyMs = 60_000;

/** `say` is given a line, as a log takes it; `server` is for people. */
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
