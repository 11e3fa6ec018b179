import { jsonObject } from '@parley/shared/json-object'
import { z } from 'zod'
import type { ResourceDefinition } from './definition.ts'
import { optionalId, optionalText, text, url } from './fields.ts'

const knownSettings = z.looseObject({ assistantId: optionalId, streamResponseBy: optionalText })

/** Free-form, but the settings that the runtime knows must have their types. */
const settings = jsonObject.superRefine((value, context) => {
  for (const { path, message } of knownSettings.safeParse(value).error?.issues ?? []) {
    context.addIssue({ code: 'custom', path, message })
  }
})

export const channel: ResourceDefinition = {
  name: 'channels',
  schema: z.strictObject({
    name: text,
    description: text,
    extId: text,
    hook: z.enum(['rpc', 'whatsapp']),
    callback: z.enum(['rpc', 'whatsapp']),
    handlerUrl: url,
    config: settings,
  }),
  indexed: { extId: 'text', name: 'text', 'config.assistantId': 'integer' },
  references: [{ field: 'config.assistantId', to: 'assistant' }],
}
