import { randomBytes } from 'node:crypto'
import { KINDS } from '@parley/shared/configuration-resources'
import { SENT } from '@parley/shared/documents/fields'
import { EVENT_TYPES } from '@parley/shared/event-types'
import type { Caller } from '@parley/shared/internal-token'
import { type JsonObject, safeInteger } from '@parley/shared/json-object'
import type { FieldError } from '@parley/shared/problem'
import { MASK } from '@parley/shared/secret-names'
import { bytesOfSecret, LEAST_SECRET_BYTES } from '@parley/shared/signing-secret'
import { z } from 'zod'
import type { ResourceDefinition } from './definition.ts'

const { optionalId, text, url } = SENT

const MAX_URL_CHARACTERS = 2_048
const MAX_SECRET_CHARACTERS = 200
const SECRET_BYTES = 32
const SECRET = /^whsec_[\w+/]+={0,2}$/
const MAX_SUBSCRIPTIONS = 100

const time = z.iso.datetime()

/** The fields that the dispatcher reports about deliveries of a subscription. */
const subscriptionMarks = {
  failing: z
    .object({ since: time, reason: z.string() })
    .optional()
    .describe('There while deliveries are given up: since when nothing has arrived, and why'),
  full: z
    .object({ since: time, reason: z.string() })
    .optional()
    .describe('There while a million events wait: since when it gets no more'),
  disabled: z
    .object({ at: time, reason: z.string() })
    .optional()
    .describe(
      'There where it was turned off because its receiver is gone (410), or nothing arrived for five days; says which',
    ),
}

export const subscription: ResourceDefinition = {
  name: 'subscriptions',
  ...KINDS.subscriptions,
  example: {
    name: 'Data warehouse',
    url: 'https://warehouse.example.com/parley',
    events: ['message.received', 'message.delivered', 'configuration.assistant.updated'],
    active: true,
  },
  schema: z.strictObject({
    name: text,
    url: url
      .refine((value) => /^https?:\/\//i.test(value), { error: 'expected an http or https URL' })
      .refine((value) => value.length <= MAX_URL_CHARACTERS, {
        error: `expected at most ${MAX_URL_CHARACTERS} characters`,
      })
      .describe('Where each event is posted, signed'),
    events: z
      .array(z.enum(EVENT_TYPES as [string, ...string[]]))
      .min(1)
      .max(EVENT_TYPES.length)
      .describe('The events that it gets'),
    channel: optionalId.describe(
      'Only what happens to messages and threads of this channel; of all when left out',
    ),
    active: z.boolean().nullish().describe('Whether it gets events; true unless said otherwise'),
    signingSecret: z
      .string()
      .nullish()
      .describe(
        '`whsec_` and base64: what its events are signed with. Made when left out; null in a PUT makes another one',
      ),
  }),
  own: {
    shape: {
      account: safeInteger.describe('The account that wrote it last: it gets what that account may read'),
      activeSince: time.optional().describe('When it was turned on: it gets what happened since'),
      token: safeInteger.optional().describe('The API token that it was written with, where it was one'),
      ...subscriptionMarks,
    },
    example: { account: 1, signingSecret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' },
    valuesOf: ownValues,
  },
  complete: (sent, from) => ({
    ...sent,
    active: sent.active ?? true,
    signingSecret: sent.signingSecret ?? storedSecret(sent, from) ?? newSecret(),
  }),
  indexed: { name: 'text', channel: 'integer' },
  references: [{ field: 'channel', to: 'channels' }],
  most: MAX_SUBSCRIPTIONS,
  errorsOfChange: errorsOfSecret,
}

/**
 * Whoever writes it answers for it: it is sent what they may read, so that nobody gets more by changing the address
 * of somebody else's. Turning it on again takes the marks away.
 */
function ownValues({ caller, from, to }: { caller: Caller; from: JsonObject | undefined; to: JsonObject }) {
  const isTurnedOn = to.active === true && from?.active === false
  const marks = from === undefined || isTurnedOn ? {} : marksOf(from)
  const since = isTurnedOn || from === undefined ? new Date().toISOString() : from.activeSince
  const activeSince = to.active === true ? since : undefined
  const own = { account: caller.account._id, activeSince, token: caller.token, ...marks }
  return Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined))
}

const marksOf = ({ failing, full, disabled }: JsonObject) => ({ failing, full, disabled })

/** A body without the secret leaves the stored one as it is; null asks for another. */
function storedSecret(sent: JsonObject, from: JsonObject | undefined): unknown {
  return sent.signingSecret === undefined ? from?.signingSecret : undefined
}

const newSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`

/** A secret that is new has to be one; that it has already stays valid. */
function errorsOfSecret(change: {
  from: JsonObject | undefined
  to: JsonObject
  sent: JsonObject
}): FieldError[] {
  const secret = String(change.sent.signingSecret)
  const isStored = secret === MASK || change.to.signingSecret === change.from?.signingSecret
  const isFit =
    SECRET.test(secret) &&
    secret.length <= MAX_SECRET_CHARACTERS &&
    bytesOfSecret(secret) >= LEAST_SECRET_BYTES
  if (isStored || isFit) return []
  const message = `expected whsec_ and at least ${LEAST_SECRET_BYTES} bytes in base64`
  return [{ path: '/signingSecret', code: 'bad_secret', message }]
}
