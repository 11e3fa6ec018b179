import type { Parley } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import { defined } from '@parley/shared/defined'
import type { ProviderRequest, ProviderResponse } from '@parley/shared/providers/http'
import type { Provider } from '@parley/shared/providers/provider'
import { providerNamed } from '@parley/shared/providers/registry'
import type { Settings } from '@parley/shared/providers/setting'
import { settingsFor } from '@parley/shared/providers/settings'
import { MASK } from '@parley/shared/secret-names'

/** The result of one check: well, something to mend, or not to be checked. */
export interface Diagnosis {
  check: string
  result: 'ok' | 'bad' | 'unknown'
  text: string
}

interface Asked {
  channel: string
  template?: string | undefined
  language?: string | undefined
}

const REQUEST_MS = 10_000

/** Checks a channel's account at its provider and, where one is asked for, a template. */
export async function* checkAccount(parley: Parley, asked: Asked): AsyncGenerator<Diagnosis> {
  const query = { extId: asked.channel, limit: 1 }
  const { data } = await succeeded(parley.api.GET('/rest/channels', { params: { query } }))
  const [channel] = data
  if (channel === undefined)
    return yield bad('channel', `There is no channel with the extId ${asked.channel}.`)
  const provider = providerNamed(channel.callback)
  if (provider?.outbound.account === undefined)
    return yield {
      check: 'channel',
      result: 'ok',
      text: `It sends through ${provider?.description.label ?? channel.callback}, where there is nothing to look up.`,
    }
  const settings = settingsFor('send', provider, { config: channel.config, open: (text) => text })
  const obstacle = obstacleIn(settings, provider)
  if (obstacle !== undefined) return yield obstacle
  const { template, language } = asked
  const checks = provider.outbound.account(settings, defined({ template, language }))
  for (const { name, request, read } of checks) {
    const response = request === undefined ? WITHOUT_REQUEST : await responseTo(request)
    if (response === undefined) return yield bad(name, `${request?.url.split('?', 1)[0]} does not respond.`)
    yield { check: name, ...read(response) }
  }
}

const WITHOUT_REQUEST: ProviderResponse = { status: 0, headers: {}, body: '' }

/** Why these settings can't be used to ask; undefined where they can. */
function obstacleIn(settings: Settings, provider: Provider): Diagnosis | undefined {
  const needed = provider.settings.filter(({ neededTo }) => neededTo === 'send')
  const masked = needed.find(({ key, isSecret }) => isSecret && settings[key] === MASK)
  if (masked !== undefined)
    return {
      check: 'channel',
      result: 'unknown',
      text: `The channel's ${masked.label.toLowerCase()} is shown only to those who may write the channel.`,
    }
  const lacking = needed.filter(({ key, isOptional }) => !isOptional && settings[key] === undefined)
  if (lacking.length === 0) return undefined
  const names = lacking.map(({ key }) => `config.${key}`).join(' and ')
  return bad('channel', `${names} ${lacking.length === 1 ? 'is' : 'are'} missing: nothing can be sent.`)
}

/** Undefined where there is none in time. */
async function responseTo({ url, ...request }: ProviderRequest): Promise<ProviderResponse | undefined> {
  try {
    const response = await fetch(url, { ...request, signal: AbortSignal.timeout(REQUEST_MS) })
    return { status: response.status, headers: {}, body: await response.text() }
  } catch {
    return undefined
  }
}

const bad = (check: string, text: string): Diagnosis => ({ check, result: 'bad', text })
