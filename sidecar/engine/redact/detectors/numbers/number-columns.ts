// Finds telephone numbers and national ids in table columns whose heading names them. A value is found if the detector
// would also find it directly after the heading.
import type { Detector } from '../../detector.ts';
import { labelBefore } from '../context/context.ts';
import type { Context } from '../context/context-words.ts';
import { columnFollows, columnReach, findColumn } from '../named/columns.ts';
import { digitsEnd, isDigit } from './digits.ts';
import { nationalId } from './national-id.ts';
import { phone } from './phone.ts';

const words = (text: string): readonly string[] => text.split(' ');

/** One word of a heading is enough as an anchor, because the whole heading is read before a column is followed. */
export const phoneColumn = columnOf(
  phone,
  'phone',
  words(
    'phone phones phoneno phonenumber cellphone telephone tel telefon telefono telefone telefonnummer telnr mobile mobiles mobil mobilnummer mobilenumber cell cel celular cellulare fax gsm handy ' +
      'handynummer whatsapp msisdn contact',
  ),
);

export const nationalIdColumn = columnOf(
  nationalId,
  'person',
  words(
    'ssn itin tin tax taxid social nif nie dni cpf cnpj rut curp rfc cuit cuil cedula nino nhs utr passport passportnumber national nationalid identity citizen bsn insz niss pesel nip fnr cpr hetu ' +
      'personnummer kennitala isikukood oib jmbg cnp egn amka afm pps ppsn aadhaar pan nric hkid tfn abn sin idnr steuernummer svnr ahv avs nir fiscale taj tckn cnic nik inn snils reisepass license licence no_kp nokp no_ic ic_no id',
  ),
);

function columnOf(detector: Detector, context: Context, anchors: readonly string[]): Detector {
  return {
    kind: detector.kind,
    anchors,
    reach: columnReach,
    follows: columnFollows,
    find: (text, at, end, found) =>
      findColumn(
        (heading) => (labelBefore(heading, heading.length)?.context === context ? (value) => isWhole(detector, heading, value) : null),
        text,
        at,
        end,
        found,
      ),
  };
}

const cellLengthMax = 40;

/** Returns whether a cell consists only of a number that the detector finds. */
function isWhole(detector: Detector, heading: string, value: string): boolean {
  if (value.length > cellLengthMax) return false;
  const before = `${heading}: `;
  const text = before + value;
  let at = before.length;
  while (at < text.length && !isDigit(text.charCodeAt(at))) at += 1;
  let isFound = false;
  detector.find(text, at, digitsEnd(text, at), (start, stop) => {
    isFound = start === before.length && stop === text.length;
  });
  return isFound;
}
