// The texts, identifiers and file names of the control plane and of proto contain no word of words.yaml. Comments are
// only counted, because migrations stay as they were run.
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openTree } from '../support/checkout/tree.ts';
import { readWords } from './words/list.ts';
import { createFindWords } from './words/match.ts';
import { type Kind, listPieces } from './words/texts.ts';

const checked: ReadonlySet<Kind> = new Set<Kind>(['strings', 'identifiers', 'fileNames']);

/** The command line is checked when it has its own workspace. */
const isChecked = (path: string): boolean => /^(?:control-plane|proto)\//.test(path) && !path.startsWith('control-plane/cli/');

/** Texts that contain a listed word for a reason. */
const exceptions: Readonly<Record<string, string>> = {
  wall: 'the wall clock',
  mended: 'a field of audit entries on the wire',
  roomAfterMs: 'a field of the gRPC contract, room_after_ms',
  tollgate_lease_lies_total: 'the name of a metric',
  strangers: 'a value of the label `why` of tollgate_grpc_connections_refused_total',
  strangersOfNetwork: 'the bound behind that label',
  nobody: 'an account of the operating system',
  'Go on.': 'a message to a model',
  waitsForNobody: 'an option of the entrance of the sidecar',
  strangersBytes: 'an option of the entrance of the sidecar',
  BodyRoom: 'a class of the sidecar',
  SessionRoom: 'a class of the sidecar',
  FairRoom: 'a class of proto that the sidecar uses',
  'fair-room.ts': 'the file of FairRoom',
  room: 'an instance of FairRoom or SessionRoom',
  roomBytes: 'the size of a FairRoom',
  standardRoomBytes: 'the size of a FairRoom',
  noRoom: 'the refusal of a FairRoom that is full',
};

test('texts, identifiers and file names of the control plane and of proto contain no listed word', () => {
  const tree = openTree(fileURLToPath(new URL('../..', import.meta.url)));
  const find = createFindWords(readWords());
  const used = new Set<string>();
  const found = tree.files.filter(isChecked).flatMap((path) =>
    listPieces(tree, path).flatMap(({ kind, text }) => {
      if (!checked.has(kind) || find(text).length === 0) return [];
      const reason = Object.keys(exceptions).find((name) => text === name);
      // The help of the metric lists the values of its label.
      const isLabelHelp = text.endsWith('by reason: connections, strangers, network, no_key');
      if (reason !== undefined) used.add(reason);
      return reason !== undefined || isLabelHelp ? [] : [`${path}: ${text.slice(0, 100)}`];
    }),
  );
  expect(found).toEqual([]);
  expect(Object.keys(exceptions).filter((name) => !used.has(name))).toEqual([]);
});
