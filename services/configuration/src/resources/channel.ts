import { CHANNEL_NUMBERS, type ChannelNumber } from '@parley/shared/channel-settings'
import { KINDS } from '@parley/shared/configuration-resources'
import { channelDocument } from '@parley/shared/documents/channel'
import { SENT } from '@parley/shared/documents/fields'
import { type JsonObject, jsonObject, safeInteger } from '@parley/shared/json-object'
import { jsonSchemaOf } from '@parley/shared/openapi/operation'
import type { FieldError } from '@parley/shared/problem'
import { usualProvider } from '@parley/shared/providers/registry'
import { MASK } from '@parley/shared/secret-names'
import { bytesOfSecret, LEAST_SECRET_BYTES } from '@parley/shared/signing-secret'
import { z } from 'zod'
import { ownOrigins, type ResourceDefinition, referencesOf, valueAt } from './definition.ts'

const { optionalId, optionalText, url } = SENT

/** Whole numbers within their bounds. */
const numberSetting = (name: ChannelNumber) => {
  const { min, max, default: otherwise, description } = CHANNEL_NUMBERS[name]
  return z
    .number()
    .int()
    .min(min)
    .max(max)
    .nullish()
    .describe(`${description}; ${otherwise || 'what the provider says of it'} unless said otherwise`)
}

const knownSettings = z.looseObject({
  assistantId: optionalId,
  streamResponseBy: optionalText,
  maxTurns: numberSetting('maxTurns'),
  turnTimeoutSeconds: numberSetting('turnTimeoutSeconds'),
  messageTimeoutSeconds: numberSetting('messageTimeoutSeconds'),
  gatherMs: numberSetting('gatherMs'),
  historyTokens: numberSetting('historyTokens'),
  historyLimit: numberSetting('historyLimit'),
  dailyTokens: safeInteger
    .min(1)
    .nullish()
    .describe('How many tokens its agent may use in a day; no bound unless said otherwise'),
  dailyTokensPerPerson: safeInteger
    .min(1)
    .nullish()
    .describe(
      'How many of them one person may use in a day; a quarter of dailyTokens unless said otherwise, no bound without both',
    ),
  fallbackMessage: optionalText.describe(
    'What the person gets when an agent meets one of its bounds; of tokens once a day',
  ),
  handOffOnFailure: z
    .boolean()
    .nullish()
    .describe(
      'Whether the thread goes to a person when a message ends without an answer; false unless said otherwise',
    ),
  summarise: z
    .boolean()
    .nullish()
    .describe(
      'Whether the model summarises what falls out of the history, for its later answers; false unless said otherwise',
    ),
  handOffMessage: optionalText.describe(
    'What the person gets when an agent hands over and says nothing of its own',
  ),
  shareWithModel: z
    .array(z.enum(['name', 'username', 'phone', 'email', 'addresses']))
    .nullish()
    .describe(
      "What of the person's `user` the provider of the model gets; nothing of these unless said otherwise",
    ),
  handOffUrl: url.nullish().describe('Where to tell, by signed POST, that a person is to take over'),
  handlerTimeoutSeconds: numberSetting('handlerTimeoutSeconds'),
  messagesPerSecond: numberSetting('messagesPerSecond'),
  markup: optionalText.describe(
    'How what an assistant or somebody of the team writes is sent: `asIs` as it is, else from Markdown in the markup of the provider',
  ),
  handlerContext: z
    .boolean()
    .nullish()
    .describe(
      "Whether a handler over HTTP gets the assistant, its job and the thread's task with each message",
    ),
  echoTakeOverMinutes: numberSetting('echoTakeOverMinutes'),
  answerReactions: z
    .boolean()
    .nullish()
    .describe('Whether a reaction is answered like a message; false unless said otherwise'),
  typing: z
    .boolean()
    .nullish()
    .describe('Whether the person sees an agent that works as typing; true unless said otherwise'),
})

/** The names of those settings. */
export const CHANNEL_SETTINGS: readonly string[] = Object.keys(knownSettings.shape)

/** Free-form, but the settings that the runtime knows must have their types. */
const settings = jsonObject
  .superRefine((value, context) => {
    for (const { path, message } of knownSettings.safeParse(value).error?.issues ?? []) {
      context.addIssue({ code: 'custom', path, message })
    }
  })
  .meta({ properties: jsonSchemaOf(knownSettings).properties })

export const channel: ResourceDefinition = {
  name: 'channels',
  ...KINDS.channels,
  example: {
    name: 'Support',
    description: 'Support line',
    extId: 'support-line',
    hook: usualProvider().name,
    callback: 'rpc',
    handlerUrl: 'native:agents/functionCall',
    config: { assistantId: 1, streamResponseBy: 'turn', extra: { 'a.b': 1, $c: 2 } },
  },
  schema: channelDocument.body.extend({ config: settings }),
  own: ownOrigins(
    'There where `apiUrl` leads elsewhere than it did when the access token was stored, which goes to these origins only',
  ),
  indexed: { extId: 'text', name: 'text', 'config.assistantId': 'integer' },
  references: referencesOf('channels'),
  errorsOfChange: errorsOfSigningSecrets,
}

/** The new signing secrets of a channel that are too short to withstand guessing; those it has already stay valid. */
function errorsOfSigningSecrets(change: {
  from: JsonObject | undefined
  to: JsonObject
  sent: JsonObject
}): FieldError[] {
  const sealed = secretsIn(change.to)
  const before = new Set(secretsIn(change.from ?? {}))
  return secretsIn(change.sent).flatMap((secret, at) => {
    const isNew = secret !== MASK && !before.has(secret) && !before.has(sealed[at])
    if (!isNew || typeof secret !== 'string' || bytesOfSecret(secret) >= LEAST_SECRET_BYTES) return []
    const message = `expected at least ${LEAST_SECRET_BYTES} bytes`
    return [{ path: `/config/signingSecrets/${at}`, code: 'too_small', message }]
  })
}

function secretsIn(doc: JsonObject): unknown[] {
  const secrets = valueAt(doc, 'config.signingSecrets')
  return Array.isArray(secrets) ? secrets : []
}
