// Services, messages and enums of the contract, from the descriptors that buf compiles from all .proto files, so that
// comments and the order of the sources do not matter. Imported files of others, such as
// `google/protobuf/struct.proto`, are omitted.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Section, textOf } from './lines.ts';

interface Range {
  readonly start?: number;
  /** For a message the first number after the range, for an enum the last one in it. */
  readonly end: number;
}

interface Field {
  readonly name: string;
  readonly number: number;
  readonly label: string;
  readonly type: string;
  readonly typeName?: string;
  readonly jsonName: string;
  readonly oneofIndex?: number;
  readonly proto3Optional?: boolean;
  readonly options?: object;
}

interface Reserving {
  readonly reservedRange?: readonly Range[];
  readonly reservedName?: readonly string[];
}

interface Enum extends Reserving {
  readonly name: string;
  /** Zero may be omitted. */
  readonly value: readonly { readonly name: string; readonly number?: number }[];
}

interface Message extends Reserving {
  readonly name: string;
  readonly field?: readonly Field[];
  readonly oneofDecl?: readonly { readonly name: string }[];
  readonly nestedType?: readonly Message[];
  readonly enumType?: readonly Enum[];
}

interface Service {
  readonly name: string;
  readonly method: readonly {
    readonly name: string;
    readonly inputType: string;
    readonly outputType: string;
    readonly clientStreaming?: boolean;
    readonly serverStreaming?: boolean;
  }[];
}

export interface ProtoFile {
  readonly name: string;
  readonly package: string;
  readonly messageType?: readonly Message[];
  readonly enumType?: readonly Enum[];
  readonly service?: readonly Service[];
}

const root = fileURLToPath(new URL('../../..', import.meta.url));

export async function protoText(): Promise<string> {
  const buf = ['node_modules/@bufbuild/buf/bin/buf', 'build', 'proto', '--exclude-imports', '--exclude-source-info', '-o', '-#format=json'];
  const { stdout } = await promisify(execFile)(process.execPath, buf, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
  const { file }: { readonly file: readonly ProtoFile[] } = JSON.parse(stdout);
  return textOf(file.map(sectionOf).toSorted((a, b) => (a.heading < b.heading ? -1 : 1)));
}

/** Lines such as `reserved 4 to 6`; all others state one fact each. */
export const sectionOf = (file: ProtoFile): Section => ({
  heading: `${file.name}, package ${file.package}`,
  lines: [
    ...(file.service ?? []).flatMap((service) => methodLines(service, file.package)),
    ...(file.messageType ?? []).flatMap((message) => messageLines(message, file.package)),
    ...(file.enumType ?? []).flatMap((one) => enumLines(one, file.package)),
  ],
});

const methodLines = ({ name, method }: Service, within: string): readonly string[] =>
  method.map(({ name: verb, inputType, outputType, clientStreaming = false, serverStreaming = false }) => {
    const side = (type: string, isStream: boolean): string => `(${isStream ? 'stream ' : ''}${nameOf(type)})`;
    return `service ${within}.${name} rpc ${verb}${side(inputType, clientStreaming)} returns ${side(outputType, serverStreaming)}`;
  });

function messageLines(message: Message, within: string): readonly string[] {
  const name = `${within}.${message.name}`;
  return [
    `message ${name}`,
    ...(message.field ?? []).map((field) => `message ${name} = ${padded(field.number)} ${fieldText(field, message)}`),
    ...reservedLines(message, 1).map((reserved) => `message ${name} ${reserved}`),
    ...(message.nestedType ?? []).flatMap((nested) => messageLines(nested, name)),
    ...(message.enumType ?? []).flatMap((one) => enumLines(one, name)),
  ];
}

function fieldText(
  { name, label, type, typeName, jsonName, oneofIndex, proto3Optional, options }: Field,
  { oneofDecl = [] }: Message,
): string {
  const oneof = oneofIndex === undefined || proto3Optional === true ? undefined : oneofDecl[oneofIndex]?.name;
  return [
    name,
    proto3Optional === true ? 'optional' : label === 'LABEL_REPEATED' ? 'repeated' : 'singular',
    typeName === undefined ? type.replace('TYPE_', '').toLowerCase() : nameOf(typeName),
    `json ${jsonName}`,
    ...(oneof === undefined ? [] : [`oneof ${oneof}`]),
    ...(options === undefined ? [] : [`options ${JSON.stringify(options)}`]),
  ].join(' ');
}

const enumLines = (one: Enum, within: string): readonly string[] => [
  ...one.value.map(({ name, number = 0 }) => `enum ${within}.${one.name} = ${padded(number)} ${name}`),
  ...reservedLines(one, 0).map((reserved) => `enum ${within}.${one.name} ${reserved}`),
];

const reservedLines = ({ reservedRange = [], reservedName = [] }: Reserving, beyond: 0 | 1): readonly string[] => [
  ...reservedRange.map(({ start = 0, end }) => `reserved ${start} to ${end - beyond}`),
  ...reservedName.map((name) => `reserved ${name}`),
];

/** Padded, so that sorted lines are in the order of the numbers. */
const padded = (number: number): string => String(number).padStart(3);

const nameOf = (type: string): string => type.replace(/^\./, '');
