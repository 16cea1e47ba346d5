// Returns the text of a node for people, who read it where a condition was undecided. It is cut, and shows no long list.
import type { Expression } from '@tollgate/proto/contract';

const lengthMax = 100;

const shortened = (text: string): string => (text.length <= lengthMax ? text : `${text.slice(0, lengthMax)}…`);

const signs: Readonly<Record<string, string>> = {
  and: '&&',
  or: '||',
  eq: '==',
  ne: '!=',
  lt: '<',
  le: '<=',
  gt: '>',
  ge: '>=',
  add: '+',
  sub: '-',
  mul: '*',
  div: '/',
  mod: '%',
  in: 'in',
};

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;

export const expressionText = (node: Expression): string => shortened(textOf(node));

function textOf(node: Expression): string {
  switch (node[0]) {
    case 'null':
      return 'null';
    case 'string':
      return JSON.stringify(node[1]);
    case 'uint':
      return `${node[1]}u`;
    case 'bytes':
      return 'b"…"';
    case 'field':
      return identifier.test(node[2]) ? `${expressionText(node[1])}.${node[2]}` : `${expressionText(node[1])}[${JSON.stringify(node[2])}]`;
    case 'has':
      return `has(${expressionText(node[1])}.${node[2]})`;
    case 'list':
      return '[…]';
    case 'map':
      return '{…}';
    case 'fold':
      return `${expressionText(node[1])}.…`;
    case 'call': {
      const [, name, ...operands] = node;
      return callText(name, operands.map(expressionText));
    }
    default:
      return String(node[1]);
  }
}

function callText(name: string, operands: readonly string[]): string {
  const [a = '', b = '', c = ''] = operands;
  const sign = Object.hasOwn(signs, name) ? signs[name] : undefined;
  if (sign !== undefined) return `${a} ${sign} ${b}`;
  switch (name) {
    case 'not':
      return `!${a}`;
    case 'neg':
      return `-${a}`;
    case 'notFalse':
      return a;
    case 'if':
      return `${a} ? ${b} : ${c}`;
    case 'index':
      return `${a}[${b}]`;
    default:
      return `${name}(${operands.join(', ')})`;
  }
}
