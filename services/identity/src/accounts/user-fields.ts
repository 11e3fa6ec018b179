import { jsonObject } from '@parley/shared/json-object'
import { unescapeKeys } from '@parley/shared/safe-keys'
import { z } from 'zod'
import { id, times, timesExample } from '../schemas.ts'
import type { Account } from '../store/account.ts'

const MAX_LABEL = 255
const MAX_EMAIL = 254
const MAX_PASSWORD_BYTES = 1024
const CONTROL = /\p{Cc}/u

const characters = (text: string): number => [...text].length

/** Free text of 0 to 255 characters. */
export const label = z
  .string()
  .refine((text) => characters(text) <= MAX_LABEL, { error: `has more than ${MAX_LABEL} characters` })
  .meta({ maxLength: MAX_LABEL })

/** An email address, internationalised ones included; at most 254 characters. */
export const emailAddress = z
  .email({ pattern: z.regexes.unicodeEmail })
  .refine((text) => characters(text) <= MAX_EMAIL && !CONTROL.test(text), {
    error: 'is not an email address',
  })
  .meta({ maxLength: MAX_EMAIL })

/** A password of at least `min` characters and at most 1,024 bytes. */
export const newPassword = (min: number) =>
  z
    .string()
    .refine((text) => characters(text) >= min, { error: `has fewer than ${min} characters` })
    .refine((text) => Buffer.byteLength(text) <= MAX_PASSWORD_BYTES, {
      error: `has more than ${MAX_PASSWORD_BYTES} bytes`,
    })
    .meta({ format: 'password', minLength: min })

/**
 * What makes a user name unique: compatibility forms and case are folded, dots and `+tags` count.
 * Upper case comes first because it unites what lower case alone keeps apart (`ß` and `ss`, `ς` and `σ`).
 */
export function usernameKey(username: string): string {
  return username.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC')
}

/** A user as those see it who administer the workspace. */
export function userView(account: Account) {
  const { _id, provider, username, name, phone, profile, workspace, role } = account
  const { createdAt, updatedAt, context } = account
  return {
    _id,
    provider,
    username,
    name,
    phone,
    profile,
    workspace,
    role,
    createdAt,
    updatedAt,
    context: unescapeKeys(context),
  }
}

/** The result of {@link userView}. */
export const userSchema = z
  .object({
    _id: id,
    provider: z.string(),
    username: z.string(),
    name: z.string(),
    phone: z.string(),
    profile: id,
    workspace: id,
    role: id,
    ...times,
    context: jsonObject,
  })
  .meta({ id: 'User', description: 'A user of the workspace' })

export const userExample = {
  _id: 2,
  provider: 'local',
  username: 'bruno@example.com',
  name: 'Bruno Lima',
  phone: '+5511999990001',
  profile: 2,
  workspace: 1,
  role: 3,
  ...timesExample,
  context: {},
}
