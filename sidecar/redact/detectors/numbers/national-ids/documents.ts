// Passports and driving licences, whose forms overlap so much that the word beside them has to tell.
import type { NationalId } from './form.ts';

const hasDigits = (compact: string): boolean => (compact.match(/\d/g)?.length ?? 0) >= 5;

export const documents: readonly NationalId[] = [
  {
    name: 'passport',
    alone: [],
    beside: ['@#######', '@########', '@@#######', '@@######', '##@@#####', '@##@#####', '@#@######'],
    isValid: hasDigits,
  },
  { name: 'gb-licence', alone: [], beside: ['@@@@@######@@#@@', '@@@@@######@@*@@'], isValid: hasDigits },
  {
    name: 'us-licence',
    alone: [],
    beside: ['@###-####-####', '@############', '@###-###-##-###-#', '@@#####', '@@-######', '@#######'],
    isValid: hasDigits,
  },
];
