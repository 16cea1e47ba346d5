// Defines the forms of passports and driving licences. They overlap so much that only the word next to a number can
// identify it.
import type { NationalId } from './form.ts';

const hasDigits = (compact: string): boolean => (compact.match(/\d/g)?.length ?? 0) >= 5;

export const documents: readonly NationalId[] = [
  {
    name: 'passport',
    alone: [],
    labelled: ['@#######', '@########', '@@#######', '@@######', '##@@#####', '@##@#####', '@#@######'],
    isValid: hasDigits,
  },
  { name: 'gb-licence', alone: [], labelled: ['@@@@@######@@#@@', '@@@@@######@@*@@'], isValid: hasDigits },
  {
    name: 'us-licence',
    alone: [],
    labelled: ['@###-####-####', '@############', '@###-###-##-###-#', '@@#####', '@@-######', '@#######'],
    isValid: hasDigits,
  },
];
