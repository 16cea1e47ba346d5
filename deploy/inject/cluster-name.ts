// Checks names that Kubernetes accepts.

/** Returns the problem of the name of a Secret, a claim or a volume; null: it is valid. */
export const clusterNameProblem = (value: string): string | null =>
  /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/.test(value) && value.length <= 253
    ? null
    : 'must be a name as Kubernetes has them: a-z, 0-9, - and ., neither first nor last';
