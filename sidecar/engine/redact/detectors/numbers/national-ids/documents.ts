// Passports and driving licences. Their forms overlap so much that the word next to them must identify them.
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
