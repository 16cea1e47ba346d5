// Original file: tollgate/v1/approval.proto


export interface AskingRule {
  'document'?: (string);
  'path'?: (string);
  'digest'?: (string);
  'terms'?: (string);
}

export interface AskingRule__Output {
  'document': (string);
  'path': (string);
  'digest': (string);
  'terms': (string);
}
