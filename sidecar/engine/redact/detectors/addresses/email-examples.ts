// Decides whether two words with an `@` between them are the address of a person. Addresses of examples, packages,
// files and units are excluded.

/** `host` is as written, and may be percent-encoded. */
export function isPersonal(local: string, host: string): boolean {
  const name = host.toLowerCase().replaceAll('%2e', '.');
  const labels = name.split('.');
  const end = labels.at(-1) ?? '';
  if (fileEnds.has(end) || /^v?\d+\.\d|^v\d/.test(name) || /^\d{1,2}(?:\.\d)?x\./.test(name)) return false;
  // A top-level domain with a capital after a small letter does not exist. Such a text is a name in a program.
  if (/[a-z][A-Z]/.test(host.slice(host.lastIndexOf('.') + 1))) return false;
  if (reservedEnds.has(end) || labels.some((label) => exampleLabels.has(label)) || exampleHosts.has(name)) return false;
  return !placeholderLocal.test(local);
}

/** Top-level domains of examples: reserved by RFC 2606 and RFC 6761, or placeholders. */
const reservedEnds = new Set(['example', 'test', 'invalid', 'localhost', 'tld']);

const exampleLabels = new Set(
  'example examples yourdomain your-domain mydomain my-domain yourcompany your-company mycompany yoursite yourorg your-org somedomain placeholder'.split(
    ' ',
  ),
);

const exampleHosts = new Set(
  'domain.com company.com foo.com bar.com foo.bar baz.com test.com email.com mail.com host.com users.noreply.github.com'.split(' '),
);

/** Local parts that are not people: accounts that log in with a key, placeholders for a name, and words of programs. */
const placeholderLocal =
  /^(?:git|hg|svn|gitea|this|super|self|return|break|continue|x+|your(?:[._-]?(?:name|user(?:name)?|e?-?mail|address|id|login|account|handle))?|you|name|user[._-]?name|first[._-]?name(?:[._-]?last[._-]?name)?|first[._-]last|some(?:one|body)|placeholder|example)$/i;

/**
 * The ends of file names and of systemd units. The ends `rs`, `md`, `sh` and `pl` are not included, because they are
 * also domains of countries.
 */
const fileEnds = new Set(
  (
    'png jpg jpeg gif svg webp avif ico bmp tif tiff heic mp3 mp4 webm mov pdf js mjs cjs jsx ts mts cts tsx css scss less html htm xml json jsonl yaml yml toml ' +
    'ini cfg conf txt csv log lock py rb go java kt class jar cpp hpp vue svelte gz tgz bz2 xz zst tar rpm deb exe dll so whl plt ' +
    'service socket timer target mount automount slice scope swap path device'
  ).split(' '),
);
