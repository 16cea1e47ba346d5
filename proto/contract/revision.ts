/** Which revision of a workspace's policy: numbers rise within an epoch, and another epoch is another past of the database. */
export interface RevisionName {
  readonly epoch: string;
  readonly number: number;
}
