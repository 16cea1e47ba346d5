// Original file: tollgate/v1/quota.proto


export interface Later {
  'askAfterMs'?: (number);
}

export interface Later__Output {
  'askAfterMs': (number);
}
