// Original file: tollgate/v1/audit.proto


export interface Credit {
  'records'?: (number);
}

export interface Credit__Output {
  'records': (number);
}
