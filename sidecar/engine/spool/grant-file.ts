// Keeps on disk how many calls of each session's grant were used, so that a later process can give back the rest if this
// process is killed. Grants of sessions do not expire, so a killed process would otherwise have used all of them.
//
// The file `grants` is in the spool's subfolder. It is a list of records in the form of the spool (`record.ts`), numbered
// from 1: the head, then for each grant a record with its run, and then, whenever its count has changed, a record with
// the number of the first one and the new count. The count is written together with the audit entries of the same turn,
// before them, and so before a caller hears that its call is allowed. A count on disk may be too high but never too low.
//
// States: none → written → too large, of another epoch, or not written as it should be → written as a whole, with the
// grants that still exist, and put in the place of the old file by a rename. If workspace policy lets calls continue
// without an entry, calls may continue without a count too, so the file is emptied and nothing is written.
// `left-grants.ts` reads the file of a dead process.
import type { QuotaCounter } from '@tollgate/proto/contract';
import { grantsIn, hasGrants, headOf, removeGrants } from './left-grants.ts';
import { headerBytes, writeHeader } from './record.ts';
import type { SpoolFs } from './spool-fs.ts';

/** A grant of a session. */
export interface KeptGrant {
  readonly id: number;
  readonly used: number;
  /** What the file says about the grant. Null: the grant is not in a file yet. */
  kept: KeptUse | null;
}

interface KeptUse {
  /** The file that contains the grant. */
  readonly file: object;
  /** The number of the record with its run. */
  readonly record: number;
  used: number;
}

/** A session with the grants of which the ledger does not know yet how much was used. */
export interface GrantedRun {
  readonly counter: QuotaCounter;
  readonly heldGrants: readonly KeptGrant[];
}

/** Where the grants of this process come from. */
export interface GrantSource {
  /** The history of the database that has made the grants. */
  readonly epoch: string;
  /** Returns the runs that may have changed since the last call. */
  takeChangedRuns(): readonly GrantedRun[];
  heldRuns(): readonly GrantedRun[];
}

interface OpenFile {
  readonly fd: number;
  readonly epoch: string;
  /** The file is written as a whole again when it has more bytes than this. */
  readonly bytesMax: number;
  bytes: number;
  records: number;
}

export interface GrantFileConfig {
  /** The spool's subfolder. */
  readonly folder: string;
  readonly bootId: string;
  /** Present: counts must survive a power loss. It is called when a file was renamed. */
  readonly syncFolder?: () => void;
}

/** A smaller file is not written as a whole because of its size. */
const bytesMin = 1024 * 1024;

export class GrantFile {
  readonly #fs: SpoolFs;
  readonly #folder: string;
  readonly #bootId: string;
  readonly #syncFolder: (() => void) | undefined;
  #source: GrantSource | null = null;
  #isWanted = false;
  #file: OpenFile | null = null;
  /** True: the file on disk does not say what it should. */
  #isBehind = false;
  /** True: bytes were written since the last sync. */
  #isUnsynced = false;
  #buffer = Buffer.allocUnsafeSlow(4096);

  constructor(fs: SpoolFs, { folder, bootId, syncFolder }: GrantFileConfig) {
    this.#fs = fs;
    this.#folder = folder;
    this.#bootId = bootId;
    this.#syncFolder = syncFolder;
  }

  follow(source: GrantSource): void {
    this.#source = source;
  }

  /** `isWanted`: no call is allowed whose count could not be written. */
  want(isWanted: boolean): void {
    if (isWanted === this.#isWanted) return;
    this.#isWanted = isWanted;
    this.#isBehind = true;
    if (!isWanted) this.#empty();
  }

  /** Writes what has changed. Throws if that cannot be written; the callers of these calls must then be denied. */
  writeOut(): void {
    const source = this.#source;
    if (source === null) return;
    const changed = source.takeChangedRuns();
    if (changed.length === 0 && !this.#isBehind) return;
    if (!this.#isWanted) {
      if (this.#isBehind) this.#empty();
      return;
    }
    const file = this.#file;
    try {
      if (file === null || this.#isBehind || file.epoch !== source.epoch || file.bytes > file.bytesMax) this.#writeWhole(source);
      else this.#append(file, changed);
      this.#isBehind = false;
    } catch (error) {
      this.#isBehind = true;
      throw error;
    }
  }

  /** Makes what was written survive a power loss. */
  sync(done: (error: Error | null) => void): void {
    if (this.#file === null || !this.#isUnsynced) return done(null);
    this.#isUnsynced = false;
    this.#fs.fdatasync(this.#file.fd, (error) => {
      if (error) this.#isBehind = true;
      done(error);
    });
  }

  /** Removes the file if the ledger knows everything. Otherwise a later process tells it. */
  close(): void {
    const isNeeded = this.#source?.heldRuns().some(({ heldGrants }) => heldGrants.length > 0) ?? false;
    this.#source = null;
    this.#closeFile();
    try {
      if (!isNeeded) removeGrants(this.#folder);
    } catch {
      // A later process removes it.
    }
  }

  #append(file: OpenFile, runs: readonly GrantedRun[]): void {
    const next = { records: file.records, bytes: 0 };
    for (const run of runs) for (const grant of run.heldGrants) this.#frame(file, next, run, grant);
    if (next.bytes === 0) return;
    this.#write(file.fd, next.bytes, file.bytes);
    file.bytes += next.bytes;
    file.records = next.records;
    this.#isUnsynced = true;
  }

  #writeWhole(source: GrantSource): void {
    const runs = source.heldRuns().filter(({ heldGrants }) => heldGrants.length > 0);
    if (runs.length === 0 && this.#file === null && !hasGrants(this.#folder)) return;
    const making = `${grantsIn(this.#folder)}.new`;
    const { epoch } = source;
    const fd = this.#fs.openSync(making, 'w', 0o600);
    try {
      const next = { records: 0, bytes: 0 };
      const ofFile = {};
      this.#put(next, JSON.stringify(headOf(this.#folder, { epoch, bootId: this.#bootId, isSynced: this.#syncFolder !== undefined })));
      for (const run of runs) for (const grant of run.heldGrants) this.#frame(ofFile, next, run, grant);
      this.#write(fd, next.bytes, 0);
      if (this.#syncFolder !== undefined) this.#fs.fsyncSync(fd);
      this.#fs.renameSync(making, grantsIn(this.#folder));
      this.#syncFolder?.();
      this.#closeFile();
      this.#file = Object.assign(ofFile, { fd, epoch, bytesMax: Math.max(bytesMin, 2 * next.bytes), ...next });
      this.#isUnsynced = false;
    } catch (error) {
      this.#fs.closeSync(fd);
      throw error;
    }
  }

  #frame(file: object, next: { records: number; bytes: number }, { counter }: GrantedRun, grant: KeptGrant): void {
    const { id, used, kept } = grant;
    if (kept?.file === file) {
      if (kept.used === used) return;
      kept.used = used;
      return this.#put(next, `[${kept.record},${used}]`);
    }
    if (counter.kind !== 'run' || counter.of === null) return;
    this.#put(next, JSON.stringify({ id, used, run: { id: counter.id, agentId: counter.agentId, of: counter.of } }));
    grant.kept = { file, record: next.records, used };
  }

  #put(next: { records: number; bytes: number }, json: string): void {
    const needed = next.bytes + headerBytes + json.length * 3;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, next.bytes);
      this.#buffer = larger;
    }
    const length = this.#buffer.write(json, next.bytes + headerBytes);
    next.records += 1;
    writeHeader(this.#buffer, next.bytes, length, next.records, false);
    next.bytes += headerBytes + length;
  }

  #write(fd: number, bytes: number, position: number): void {
    const taken = this.#fs.writeSync(fd, this.#buffer, 0, bytes, position);
    if (taken !== bytes) throw new Error(`only ${taken} of ${bytes} bytes of the used calls were written to the disk`);
  }

  /** Empties the file: all was used. If that is not possible now, the next write tries again. */
  #empty(): void {
    try {
      if (hasGrants(this.#folder)) this.#writeEmpty();
      this.#isBehind = false;
    } catch {
      // `#isBehind` is still true.
    }
  }

  #writeEmpty(): void {
    const fd = this.#fs.openSync(grantsIn(this.#folder), 'w', 0o600);
    try {
      if (this.#syncFolder !== undefined) this.#fs.fsyncSync(fd);
    } finally {
      this.#fs.closeSync(fd);
    }
  }

  #closeFile(): void {
    const file = this.#file;
    this.#file = null;
    try {
      if (file !== null) this.#fs.closeSync(file.fd);
    } catch {
      // What was written is already in the kernel or on disk; close cannot change that.
    }
  }
}
