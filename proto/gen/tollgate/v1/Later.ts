// Original file: tollgate/v1/quota.proto


export interface Later {
  'askAfterMs'?: (number);
  'held'?: (boolean);
}

export interface Later__Output {
  'askAfterMs': (number);
  'held': (boolean);
}
