import { z } from 'zod'
import { allProviders } from '../providers/registry.ts'
import { documentOf } from './fields.ts'

const providerNames = (): string[] => allProviders().map(({ name }) => name)

/** One of those that are known when it is checked. */
const providerName = z
  .string()
  .check((context) => {
    const values = providerNames()
    if (!values.includes(context.value))
      context.issues.push({ code: 'invalid_value', values, input: context.value })
  })
  .meta({ enum: providerNames() })

/** Where messages come from, what answers them, and where the answers go. */
export const channelDocument = documentOf(({ text, extId, url, object }) => ({
  name: text,
  description: text,
  extId: extId.describe('What messages name the channel by; several may have the same'),
  hook: providerName,
  callback: providerName,
  handlerUrl: url.describe('What answers: any URL, or `native:agents/<type>`'),
  config: object,
}))
