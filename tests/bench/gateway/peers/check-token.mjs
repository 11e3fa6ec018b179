import { createPublicKey } from 'node:crypto'
import jwt from 'jsonwebtoken'

const keys = new Map(
  JSON.parse(process.env.JWKS).keys.map((jwk) => [jwk.kid, createPublicKey({ key: jwk, format: 'jwk' })]),
)
const known = new Map()

/** Whether an `Authorization` header holds a good token; one that did is remembered until it expires. */
export function isAuthorized(authorization = '') {
  const expires = known.get(authorization)
  if (expires !== undefined && expires > Date.now()) return true
  try {
    const token = authorization.slice('Bearer '.length)
    const key = keys.get(jwt.decode(token, { complete: true })?.header.kid)
    const { exp } = jwt.verify(token, key, { algorithms: ['ES256'] })
    known.set(authorization, exp * 1000)
    return true
  } catch {
    return false
  }
}
