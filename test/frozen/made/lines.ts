// The form of frozen texts: sections with a heading, each of sorted lines without duplicates.
export interface Section {
  readonly heading: string;
  readonly lines: readonly string[];
}

export const textOf = (sections: readonly Section[]): string =>
  sections.map(({ heading, lines }) => [`# ${heading}`, ...[...new Set(lines)].toSorted(), ''].join('\n')).join('\n');
