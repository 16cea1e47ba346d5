// Finds passwords after short flags that mean a password only in certain commands: `ldapsearch -w …`, `7z x a.7z -p…`.
import { startsWord } from '../../boundary.ts';
import type { Detector } from '../../detector.ts';
import { isPasswordValue } from './named-value.ts';

type Row = readonly [commands: string, flag: RegExp];

const blank = String.raw`[ \t]{1,3}`;
// The commands and their flags, from the manual of each command.
const rows: readonly Row[] = [
  ['sqlcmd bcp isql tsql mosquitto_pub mosquitto_sub ipmitool zip unzip zipinfo', /-P[ \t]{0,3}/],
  ['ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldappasswd', /-w[ \t]{1,3}/],
  ['7z 7za 7zr 7zz rar unrar', /-h?p/],
  ['beeline cqlsh mongosh mongodump mongorestore mongoexport rdesktop evil-winrm wbadmin', /-p[ \t]{1,3}/],
  ['lftp', /-u[ \t]{1,3}[^\s,"']{1,64},/],
  ['smbclient', /-U[ \t]{0,3}[^\s%"']{1,64}%/],
  ['snmpwalk snmpget snmpset snmpbulkwalk snmpgetnext snmptrap', /-[AX][ \t]{1,3}/],
  ['xfreerdp wfreerdp', /\/p:/],
  ['wpscan hydra netexec crackmapexec nxc', /-p[ \t]{1,3}/],
  ['net use', /(?:[A-Za-z]:[ \t]{1,3}|\*[ \t]{1,3})?\\\\[^\s"']{1,120}[ \t]{1,3}(?!\/)/],
];
const argument = String.raw`(?:"[^"\n]{0,80}"|'[^'\n]{0,80}'|[^\s|;&"']{1,80})`;
const argumentsMax = 10;

/** Returns the pattern of one command with its flag. Some flags are given twice: `again` matches the second time. */
const compile = (flag: RegExp): RegExp =>
  new RegExp(
    `(?:\\.exe)?(?:${blank}(?!${flag.source})${argument}){0,${argumentsMax}}?${blank}(?:${flag.source})(["']?)([^\\s"'|;&]{1,128})\\1`,
    'y',
  );
const again = (flag: RegExp): RegExp =>
  new RegExp(`(?:${blank}(?!${flag.source})${argument}){0,2}?${blank}(?:${flag.source})(["']?)([^\\s"'|;&]{1,128})\\1`, 'y');

const flags = new Map(
  rows.flatMap(([commands, flag]) => {
    const patterns = [compile(flag), again(flag)] as const;
    return (commands === 'net use' ? [commands] : commands.split(' ')).map((command) => [command, patterns] as const);
  }),
);

export const flaggedPassword: Detector = {
  kind: 'password',
  anchors: [...flags.keys()],
  reach: { before: 8, after: 1_536 },
  find: (text, at, end, found) => {
    const patterns = flags.get(text.slice(at, end).toLowerCase());
    if (patterns === undefined || !' \t.'.includes(text.charAt(end) || 'x') || !startsWord(text, at)) return;
    let from = end;
    for (const pattern of patterns) {
      pattern.lastIndex = from;
      const match = pattern.exec(text);
      const value = match?.[2];
      if (match === null || value === undefined) return;
      from = pattern.lastIndex;
      const stop = from - (match[1]?.length ?? 0);
      if (!value.startsWith('$') && !value.startsWith('-') && isPasswordValue(value)) found(stop - value.length, stop);
    }
  },
};
