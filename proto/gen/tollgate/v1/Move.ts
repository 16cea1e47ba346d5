// Original file: tollgate/v1/policy.proto


export interface Move {
}

export interface Move__Output {
}
