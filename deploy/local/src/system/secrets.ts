import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { publicJwk } from '@parley/shared/config'
import { defined } from '@parley/shared/defined'
import { SERVICES, type ServiceName } from '@parley/shared/internal-token'
import { z } from 'zod'
import { SetupError } from '../setup-error.ts'

const KEY_BYTES = 32

const serviceKey = publicJwk.extend({ d: z.string() })
const secretsSchema = z.object({
  serviceKeys: z.record(z.enum(SERVICES), serviceKey),
  peppers: z.string(),
  keyEncryptionKeys: z.string(),
  signingSecret: z.string(),
  secretKeys: z.string(),
})

/** The secrets of a system. They are made once and stored: without them its data can't be read. */
export type Secrets = z.output<typeof secretsSchema>

// Secrets of later versions, and the keys of later services, are added to those that there are.
const storedSchema = secretsSchema
  .partial({ secretKeys: true })
  .extend({ serviceKeys: z.partialRecord(z.enum(SERVICES), serviceKey) })

type StoredSecrets = z.output<typeof storedSchema>

/** Reads `file`, or makes new secrets when there is none. Throws {@link SetupError} when it is damaged. */
export function loadSecrets(file: string): Secrets {
  const stored = existsSync(file) ? readSecrets(file) : undefined
  const made = makeSecrets()
  const serviceKeys = { ...made.serviceKeys, ...stored?.serviceKeys }
  const secrets: Secrets = { ...made, ...defined({ ...stored }), serviceKeys }
  if (!isDeepStrictEqual(stored, secrets)) writeAtomically(file, JSON.stringify(secrets, null, 2))
  return secrets
}

export function makeSecrets(): Secrets {
  const secret = () => randomBytes(KEY_BYTES).toString('base64')
  const keys = SERVICES.map((name) => [name, makeServiceKey(name)] as const)
  return secretsSchema.parse({
    serviceKeys: Object.fromEntries(keys),
    peppers: `p1:${secret()}`,
    keyEncryptionKeys: `k1:${secret()}`,
    signingSecret: secret(),
    secretKeys: `s1:${secret()}`,
  })
}

/** The set of public keys that every service gets. */
export function publicKeys({ serviceKeys }: Secrets): { keys: object[] } {
  return { keys: Object.values(serviceKeys).map(publicKey) }
}

/** The public part of a service's key. */
export const publicKey = ({ d: _private, ...jwk }: Secrets['serviceKeys'][ServiceName]): object => jwk

function makeServiceKey(name: ServiceName) {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), kid: name, alg: 'ES256', use: 'sig' }
}

function readSecrets(file: string): StoredSecrets {
  try {
    return storedSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    const reason = error instanceof z.ZodError ? 'entries are missing' : (error as Error).message
    throw new SetupError(
      `${file} is damaged (${reason}). The data beside it can't be read without it: restore the file from a ` +
        'backup, or move the whole folder away to begin with an empty one.',
    )
  }
}

/** Writes a file that only this user may read, under its final name only when it is whole. */
export function writeAtomically(file: string, text: string): void {
  const whole = `${file}.${randomUUID()}`
  writeFileSync(whole, text, { mode: 0o600 })
  renameSync(whole, file)
}
