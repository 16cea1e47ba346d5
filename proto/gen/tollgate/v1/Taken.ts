// Original file: tollgate/v1/quota.proto


export interface Taken {
}

export interface Taken__Output {
}
