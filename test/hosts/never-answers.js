// In place of our command line: a hook that never answers. When it is started for the first time it writes the time
// next to itself, and then does nothing. Later ones, after the call, permit at once.
const { existsSync, writeFileSync } = require('node:fs');

const asked = `${__dirname}/asked`;
if (existsSync(asked)) process.stdout.write('{}');
else {
  writeFileSync(asked, String(Date.now()));
  // Longer than the limit that the host is given; then it ends without an answer, also if the host has left it behind.
  setTimeout(() => {}, 100_000);
}
