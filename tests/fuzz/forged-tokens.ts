import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto'

/** The material that a forger may have. */
export interface ForgersMaterial {
  /** A token that holds. */
  token: string
  /** Identity's public key. */
  jwk: Record<string, unknown>
  /** The key that services sign with among themselves. */
  gatewayKey?: Record<string, unknown>
}

type Claims = Record<string, unknown>
interface Parts extends ForgersMaterial {
  head: Claims
  claims: Claims
}
type Forge = (parts: Parts) => string

const BITS = 24
const HUGE = 8_000
const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ownJwk = own.publicKey.export({ format: 'jwk' })

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const unsigned = (head: Claims, claims: Claims) => `${encoded(head)}.${encoded(claims)}`

function signed(head: Claims, claims: Claims, key: KeyObject = own.privateKey): string {
  const text = unsigned(head, claims)
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}

function macced(head: Claims, claims: Claims, secret: string | Buffer): string {
  const text = unsigned({ ...head, alg: 'HS256' }, claims)
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

/** The token with one bit of one part changed. */
function flipped(token: string, part: number, bit: number): string {
  const parts = token.split('.')
  const bytes = Buffer.from(parts[part] ?? '', 'base64url')
  const at = bit % (bytes.length * 8)
  bytes.writeUInt8(bytes.readUInt8(at >> 3) ^ (1 << (at & 7)), at >> 3)
  return parts.with(part, bytes.toString('base64url')).join('.')
}

const withHead =
  (change: Claims): Forge =>
  ({ head, claims }) =>
    signed({ ...head, ...change }, claims)
const withClaims =
  (change: Claims): Forge =>
  ({ head, claims }) =>
    signed(head, { ...claims, ...change })
const unsignedAs =
  (alg: string): Forge =>
  ({ head, claims }) =>
    `${unsigned({ ...head, alg }, claims)}.`
const pem = ({ jwk }: Parts) =>
  createPublicKey({ key: jwk, format: 'jwk' }).export({ format: 'pem', type: 'spki' })
const tail = (change: (parts: [string, string, string]) => string): Forge => {
  return ({ token }) => change(token.split('.') as [string, string, string])
}

const forges: Record<string, Forge> = {
  'alg-none': unsignedAs('none'),
  'alg-None': unsignedAs('None'),
  'alg-nOnE': unsignedAs('nOnE'),
  'alg-empty': unsignedAs(''),
  'alg-none-signed': ({ head, claims, token }) =>
    `${unsigned({ ...head, alg: 'none' }, claims)}.${token.split('.')[2]}`,
  'hs256-pem': (parts) => macced(parts.head, parts.claims, pem(parts)),
  'hs256-pem-line': (parts) => macced(parts.head, parts.claims, String(pem(parts)).trim()),
  'hs256-jwk': (parts) => macced(parts.head, parts.claims, JSON.stringify(parts.jwk)),
  'hs256-x': (parts) => macced(parts.head, parts.claims, Buffer.from(String(parts.jwk.x), 'base64url')),
  'hs256-empty': ({ head, claims }) => macced(head, claims, ''),
  'alg-es384': withHead({ alg: 'ES384' }),
  'alg-rs256': withHead({ alg: 'RS256' }),
  'alg-list': withHead({ alg: ['ES256'] }),
  'own-key': withHead({}),
  'own-key-embedded': withHead({ jwk: ownJwk }),
  'own-key-embedded-kid': withHead({ jwk: ownJwk, kid: 'mine' }),
  'own-key-url': withHead({ jku: 'http://127.0.0.1:9/jwks.json' }),
  'own-key-x5u': withHead({ x5u: 'http://127.0.0.1:9/x.pem', x5c: ['MIIB'] }),
  'kid-path': withHead({ kid: '../../../../dev/null' }),
  'kid-proto': withHead({ kid: '__proto__' }),
  'kid-sql': withHead({ kid: "x' UNION SELECT 'key" }),
  'kid-list': withHead({ kid: [1] }),
  'kid-missing': withHead({ kid: undefined }),
  'kid-number': withHead({ kid: 0 }),
  crit: withHead({ crit: ['exp'] }),
  'b64-false': withHead({ b64: false, crit: ['b64'] }),
  'typ-jwt': withHead({ typ: 'JWT' }),
  'typ-missing': withHead({ typ: undefined }),
  'aud-other': withClaims({ aud: 'urn:parley:identity' }),
  'iss-other': withClaims({ iss: 'gateway' }),
  expired: withClaims({ exp: 1 }),
  'exp-text': withClaims({ exp: '9999999999' }),
  'exp-huge': withClaims({ exp: 1e300 }),
  'sub-other': withClaims({ sub: '1' }),
  'sub-operator': withClaims({ sub: { $gt: '' } }),
  'claims-null': ({ head }) => signed(head, null as unknown as Claims),
  'claims-list': ({ head }) => signed(head, [] as unknown as Claims),
  'claims-huge': withClaims({ more: 'x'.repeat(HUGE) }),
  'head-deep': ({ claims, head }) => {
    const deep = `{"alg":${'['.repeat(2_000)}${']'.repeat(2_000)},"typ":"${head.typ}"}`
    return `${Buffer.from(deep).toString('base64url')}.${encoded(claims)}.AAAA`
  },
  'service-token': ({ gatewayKey, claims, head }) => {
    const inner = { ...claims, iss: 'gateway', aud: 'identity' }
    if (gatewayKey === undefined) return signed({ ...head, kid: 'gateway' }, inner)
    const key = createPrivateKey({ key: gatewayKey, format: 'jwk' })
    return signed({ ...head, kid: 'gateway' }, inner, key)
  },
  'service-key': ({ gatewayKey, claims, head }) =>
    gatewayKey === undefined
      ? signed(head, claims)
      : signed(head, claims, createPrivateKey({ key: gatewayKey, format: 'jwk' })),
  'no-signature': tail(([head, claims]) => `${head}.${claims}.`),
  'two-parts': tail(([head, claims]) => `${head}.${claims}`),
  'four-parts': tail(([head, claims, signature]) => `${head}.${claims}.${signature}.${signature}`),
  'head-only': tail(([head]) => head),
  'signature-zero': tail(([head, claims]) => `${head}.${claims}.${Buffer.alloc(64).toString('base64url')}`),
  'signature-short': tail(([head, claims, signature]) => `${head}.${claims}.${signature.slice(0, 40)}`),
  'signature-long': tail(([head, claims, signature]) => `${head}.${claims}.${signature}AAAA`),
  'signature-of-other': tail(([head, , signature]) => `${head}.${encoded({ sub: '1' })}.${signature}`),
  padded: ({ token }) => `${token}==`,
  'no-json': () => 'bm8.bm8.bm8',
  'api-token': () => `parley_${'A'.repeat(43)}`,
  'api-token-short': () => 'parley_A',
  ...Object.fromEntries(
    [0, 1, 2].flatMap((part) =>
      Array.from({ length: BITS }, (_, n): [string, Forge] => [
        `flip-${part}-${n}`,
        ({ token }) => flipped(token, part, n * 37),
      ]),
    ),
  ),
}

/** The names of all forgeries. None of them may get anything. */
export const FORGERIES: readonly string[] = Object.keys(forges)

export function forge(name: string, material: ForgersMaterial): string | undefined {
  const part = (at: number) => Buffer.from(material.token.split('.')[at] ?? '', 'base64url').toString()
  const [head, claims] = [JSON.parse(part(0)), JSON.parse(part(1))]
  return forges[name]?.({ ...material, head, claims })
}
