import type { Replica } from '@parley/shared/config-replica/replica'
import { sendSettings } from '@parley/shared/providers/complete-settings'
import type { ProviderRequest } from '@parley/shared/providers/http'
import { providerNamed } from '@parley/shared/providers/registry'
import type { Settings } from '@parley/shared/providers/setting'
import type { TemplateDraft, TemplateRules } from '@parley/shared/providers/templates'
import type { Channel, OpenChannel } from '../channels.ts'
import { CallError, type HttpClient } from '../http/http-client.ts'
import { presentable } from '../http/presentable.ts'

const TIMEOUT_MS = 15_000
/** A page has 50 templates, each of at most ten cards. */
const LIST = { maxBytes: 2 * 1024 * 1024, maxNodes: 40_000 }
const CHANGE = { maxBytes: 64 * 1024 }

/** An operation on templates that a provider is asked for. */
type TemplateOperation =
  | { kind: 'list'; name?: string | undefined; after?: string | undefined }
  | { kind: 'create'; draft: TemplateDraft }
  | { kind: 'edit'; providerId: string; draft: TemplateDraft }
  | { kind: 'remove'; providerId: string; name: string }

type Response = ReturnType<TemplateRules['readList']> | ReturnType<TemplateRules['readChange']>

/** The result of it; `unavailable` where the provider did not answer, and the operation may have been done. */
type TemplateResult = Response | { kind: 'unconfigured' | 'unavailable'; message: string }

/** Asks a channel's provider about its templates, with the channel's own token. */
export type AskProvider = (
  channel: { workspace: number; id: number },
  operation: TemplateOperation,
) => Promise<TemplateResult>

export function createAskProvider(options: {
  replica: Pick<Replica, 'find'>
  openChannel: OpenChannel
  http: Pick<HttpClient, 'send'>
}): AskProvider {
  const { replica, openChannel, http } = options
  return async ({ workspace, id }, operation) => {
    const [document] = await replica.find({ resource: 'channels', workspace, id })
    const channel = document && openChannel(document, workspace)
    const found = channel && templatesOf(channel)
    if (found === undefined) return { kind: 'unconfigured', message: 'The channel has no templates.' }
    if ('lacking' in found) return { kind: 'unconfigured', message: found.lacking }
    const { rules, settings } = found
    const request = requestFor(rules, settings, operation)
    const isList = operation.kind === 'list'
    try {
      const response = await http.send({ ...request, timeoutMs: TIMEOUT_MS, ...(isList ? LIST : CHANGE) })
      const read = isList ? rules.readList(response) : rules.readChange(response)
      return shown(read, request)
    } catch (error) {
      const isTooLarge = error instanceof CallError && error.failure === 'answer_too_large'
      const message = isTooLarge
        ? 'The provider answered with more than is read.'
        : 'The provider did not answer.'
      return { kind: 'unavailable', message }
    }
  }
}

interface Templates {
  rules: TemplateRules
  settings: Settings
}

/** The templates of a channel's account; or what it lacks. */
function templatesOf(channel: Channel): Templates | { lacking: string } | undefined {
  const provider = providerNamed(channel.callback)
  const rules = provider?.templates
  if (provider === undefined || rules === undefined) return undefined
  const found = sendSettings(provider, channel.config)
  if ('lacking' in found)
    return { lacking: channel.secretWithheld ?? `The channel lacks ${found.lacking.join(', ')}.` }
  const account = accountIn(rules, channel.config)
  if (account === undefined) return undefined
  return { rules, settings: { ...found.settings, ...account.settings } }
}

/** The account of a channel's templates; undefined where it has none. A setting may be stored as a number. */
export function accountIn(
  rules: TemplateRules,
  config: Channel['config'],
): { account: string; settings: Settings } | undefined {
  const settings = textsIn(config)
  const account = rules.accountOf(settings)
  return account === undefined ? undefined : { account, settings }
}

/** The settings of a config that are texts, or may be. */
export function textsIn(config: Channel['config']): Settings {
  const texts = Object.entries(config).flatMap(([key, value]) =>
    typeof value === 'string' || typeof value === 'number' ? [[key, String(value)] as const] : [],
  )
  return Object.fromEntries(texts)
}

function requestFor(rules: TemplateRules, settings: Settings, operation: TemplateOperation): ProviderRequest {
  switch (operation.kind) {
    case 'list':
      return rules.list(settings, operation)
    case 'create':
      return rules.create(settings, operation.draft)
    case 'edit':
      return rules.edit(settings, operation)
    case 'remove':
      return rules.remove(settings, operation)
  }
}

/** A refusal without anything of the token, which its text may repeat. */
function shown(read: Response, { headers }: ProviderRequest): Response {
  if (read.kind !== 'refused') return read
  const key = (headers.authorization ?? '').split(' ')
  return { ...read, message: presentable(read.message, { key, prompt: [] }) }
}
