// Original file: tollgate/v1/quota.proto


export interface NoSuchLimit {
}

export interface NoSuchLimit__Output {
}
