import type { Schemas } from '@parley/client'
import type { Provider } from '@parley/shared/providers/provider'
import { allProviders, providerNamed } from '@parley/shared/providers/registry'
import type { TemplateDefinition, TemplateRules } from '@parley/shared/providers/templates'
import { listAll } from './api.ts'
import type { Tone } from './components/basics.tsx'
import { numbered } from './format.ts'
import type { Document } from './resources.ts'
import { may } from './rights.ts'
import { type Given, type ShownTemplate, showTemplate } from './templates.ts'

export type Template = Schemas['Template']

/** A channel that has templates, which it shares with others of its account. */
export interface TemplateChannel {
  _id: number
  name: string
  account: string
  provider: Provider
}

/** The channels that have templates, of those that may be read. */
export async function templateChannels(): Promise<TemplateChannel[]> {
  if (!may('read', 'channels')) return []
  const channels = await listAll<Document>('/rest/channels')
  return channels.flatMap(({ _id, name, extId, callback, config }) => {
    const provider = providerNamed(callback)
    const account = provider?.templates?.accountOf(textsOf(config))
    if (provider === undefined || account === undefined) return []
    return [{ _id, name: name || (extId ?? numbered(_id)), account, provider }]
  })
}

/** A setting may be stored as a number. */
const textsOf = (config: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries((config ?? {}) as Record<string, unknown>).flatMap(([key, value]) =>
      typeof value === 'string' || typeof value === 'number' ? [[key, String(value)]] : [],
    ),
  )

/** A provider whose templates have rules. */
export type TemplateProvider = Provider & { templates: TemplateRules }

/** The provider of an account's templates; the first that has any where its channels may not be read. */
export function providerOf(channels: readonly TemplateChannel[], account: string): TemplateProvider {
  const own = channels.find((channel) => channel.account === account)?.provider
  const found = [own, ...allProviders()].find((one) => one?.templates !== undefined)
  if (found === undefined) throw new Error('no provider has templates')
  return found as TemplateProvider
}

/** A template as a person sees it, with what a message of it gives. */
export function shownTemplate(
  { name: callback }: TemplateProvider,
  template: TemplateDefinition,
  args: Readonly<Record<string, unknown>>,
): ShownTemplate | undefined {
  const { name, language } = template
  const known = { _id: '', account: '', ...template }
  return showTemplate([known], { ...args, template: name, language } as Given, { callback })
}

/** The examples that a template was reviewed with, under the keys of its fields. */
export const examplesOf = (
  { templates }: TemplateProvider,
  template: Pick<TemplateDefinition, 'components'>,
): Record<string, string> =>
  Object.fromEntries(templates.fieldsOf(template).map(({ key, example = '' }) => [key, example]))

const STATUS_TONES = new Map<string, Tone>([
  ['APPROVED', 'good'],
  ['ACTIVE', 'good'],
  ['PENDING', 'info'],
  ['IN_APPEAL', 'info'],
  ['PAUSED', 'warn'],
  ['REJECTED', 'bad'],
  ['DISABLED', 'bad'],
  ['DELETED', 'bad'],
  ['PENDING_DELETION', 'bad'],
])
const QUALITY_TONES = new Map<string, Tone>([
  ['GREEN', 'good'],
  ['HIGH', 'good'],
  ['YELLOW', 'warn'],
  ['MEDIUM', 'warn'],
  ['RED', 'bad'],
  ['LOW', 'bad'],
])

/** How good it is what the provider says of a template. */
export const toneOfStatus = (status: string): Tone => STATUS_TONES.get(status) ?? 'neutral'
export const toneOfQuality = (quality: string): Tone => QUALITY_TONES.get(quality) ?? 'neutral'
