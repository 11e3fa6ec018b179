/** A secret encrypted with AES-256-GCM under the key with the id `key`; all parts are base64. */
export interface Sealed {
  key: string
  iv: string
  tag: string
  data: string
}

/** A key as it is stored. */
export interface StoredKey {
  kid: string
  publicJwk: Record<string, unknown>
  privateJwk: Sealed
  createdAt: Date
}

/** The signing keys, in one document so that every change of them is atomic. */
export interface KeyRingDocument {
  _id: string
  version: number
  rotatedAt?: Date
  /** Published already, so that every verifier knows it by the time it signs. */
  next: StoredKey
  current: StoredKey
  /** Its last tokens may still be about. */
  previous?: StoredKey
}
