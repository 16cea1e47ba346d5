// Checks names that Kubernetes accepts.

/** Returns the problem with the name of a Secret, a PersistentVolumeClaim or a volume. Null: the name is valid. */
export const clusterNameProblem = (value: string): string | null =>
  /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/.test(value) && value.length <= 253
    ? null
    : 'must be a name as Kubernetes has them: a-z, 0-9, - and ., neither first nor last';
