import { jsonObject } from '@parley/shared/json-object'
import { jsonSchemaOf } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import type { ResourceDefinition } from './definition.ts'
import { extId, optionalId, optionalText, text, url } from './fields.ts'
import { errorsOfSigningSecrets } from './signing-secrets.ts'

const knownSettings = z.looseObject({ assistantId: optionalId, streamResponseBy: optionalText })

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
  title: 'Channel',
  description: 'Where messages come in and answers go out, and what handles them in between.',
  example: {
    name: 'Support',
    description: 'Support line',
    extId: 'support-line',
    hook: 'whatsapp',
    callback: 'rpc',
    handlerUrl: 'native:agents/functionCall',
    config: { assistantId: 1, streamResponseBy: 'turn', extra: { 'a.b': 1, $c: 2 } },
  },
  schema: z.strictObject({
    name: text,
    description: text,
    extId: extId.describe('What messages name the channel by; several may have the same'),
    hook: z.enum(['rpc', 'whatsapp']),
    callback: z.enum(['rpc', 'whatsapp']),
    handlerUrl: url.describe('What answers: any URL, or `native:agents/<type>`'),
    config: settings,
  }),
  indexed: { extId: 'text', name: 'text', 'config.assistantId': 'integer' },
  references: [{ field: 'config.assistantId', to: 'assistant' }],
  errorsOfChange: errorsOfSigningSecrets,
}
