/**
 * Identifies a revision of a workspace's policy. Numbers rise within an epoch. Another epoch means another history of
 * the database.
 */
export interface RevisionName {
  readonly epoch: string;
  readonly number: number;
}
