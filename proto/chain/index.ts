// Exports the chain of the audit log: its links, its checkpoints, the lines of an export, and the verification of an
// export. The control plane writes the chain with this code, and the command line and auditors verify it. Pure.
export { canonicalOf, writeTwice } from './canonical.ts';
export { type Checkpoint, type Kept, type LogKey, logKeyText, originOf, parseLogKey, parseNote, signedNote } from './checkpoint.ts';
export { checkpointLine, entryLine, format, gapLine, headingLine, parseLine, retiredLine } from './lines.ts';
export { canonicalGap, digestOf, type ShownGap, valueAfterEntry, valueAfterGap, valueBefore } from './link.ts';
export { createVerifier, type Proven, type Verdict } from './verify.ts';
