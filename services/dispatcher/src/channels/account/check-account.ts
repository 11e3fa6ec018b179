import type { Replica } from '@parley/shared/config-replica/replica'
import { defined } from '@parley/shared/defined'
import { sendSettings } from '@parley/shared/providers/complete-settings'
import type { ProviderResponse } from '@parley/shared/providers/http'
import type { AccountCheck } from '@parley/shared/providers/outbound'
import { providerNamed } from '@parley/shared/providers/registry'
import type { Channel, OpenChannel } from '../channels.ts'
import type { HttpClient } from '../http/http-client.ts'
import { presentable } from '../http/presentable.ts'
import { textsIn } from '../templates/provider-templates.ts'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 256 * 1024
const MAX_CHARACTERS = 500

/** The result of one check: well, something to mend, or not to be checked. */
interface Checked {
  check: string
  result: 'ok' | 'bad' | 'unknown'
  text: string
}

/** Asks a channel's provider, with the channel's own token, what is wrong there: within 10 s. Rejects with `unavailable`. */
export type CheckAccount = (
  channel: { workspace: number; id: number },
  asked: { template?: string | undefined; language?: string | undefined },
) => Promise<Checked[]>

export function createCheckAccount(options: {
  replica: Pick<Replica, 'find'>
  openChannel: OpenChannel
  http: Pick<HttpClient, 'send'>
}): CheckAccount {
  const { replica, openChannel, http } = options
  return async ({ workspace, id }, asked) => {
    const now = { notBefore: Date.now() }
    const [document] = await replica.find({ resource: 'channels', workspace, id }, now)
    if (document === undefined) return [bad('channel', 'The channel is gone.')]
    const checks = checksOf(openChannel(document, workspace), asked)
    return Promise.all(checks.map((one) => ('result' in one ? one : run(one, http))))
  }
}

/** Returns the checks to ask the provider for; or the result where there is nothing to ask. */
function checksOf(channel: Channel, asked: Parameters<CheckAccount>[1]): (AccountCheck | Checked)[] {
  const provider = providerNamed(channel.callback)
  if (provider?.outbound.account === undefined)
    return [{ check: 'channel', result: 'ok', text: 'There is nothing to look up where it sends to.' }]
  const found = sendSettings(provider, channel.config)
  if ('lacking' in found) {
    const lacks = `${found.lacking.join(' and ')} is missing: nothing can be sent.`
    return [bad('channel', channel.secretWithheld ?? lacks)]
  }
  return provider.outbound.account({ ...textsIn(channel.config), ...found.settings }, defined(asked))
}

const WITHOUT_REQUEST: ProviderResponse = { status: 0, headers: {}, body: '' }

async function run({ name, request, read }: AccountCheck, http: Pick<HttpClient, 'send'>): Promise<Checked> {
  if (request === undefined) return { check: name, ...read(WITHOUT_REQUEST) }
  try {
    const found = read(await http.send({ ...request, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES }))
    // It may repeat the token.
    const key = (request.headers.authorization ?? '').split(' ')
    const text = presentable(found.text, { key, prompt: [] }).slice(0, MAX_CHARACTERS)
    return { check: name, result: found.result, text }
  } catch {
    return bad(name, `${new URL(request.url).host} does not respond.`)
  }
}

const bad = (check: string, text: string): Checked => ({ check, result: 'bad', text })
