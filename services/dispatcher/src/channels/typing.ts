import { FairSlots } from '@parley/shared/fair-slots'
import type { WebhookMessage } from '@parley/shared/message'
import { sendSettings } from '@parley/shared/providers/complete-settings'
import { providerNamed } from '@parley/shared/providers/registry'
import type { MessageRecord } from '../message/message-record.ts'
import type { Channel } from './channels.ts'
import type { HttpClient } from './http/http-client.ts'

const TIMEOUT_MS = 5_000
const MAX_RESPONSE_BYTES = 16 * 1024
/** More are not shown. One workspace alone has 64. */
const IN_FLIGHT = { of: 'typing indicators', total: 192, spare: 2 }

/**
 * Shows the person that somebody is typing, until `settled` resolves. Nobody waits for it, and one that fails is not
 * repeated.
 */
export type ShowTyping = (
  call: { channel: Channel; record: Pick<MessageRecord, 'source' | 'workspace'>; message: WebhookMessage },
  settled: Promise<void>,
) => void

/** Shows it for what came from the provider that the channel sends through, where `config.typing` is not false. */
export function createShowTyping(http: Pick<HttpClient, 'send'>): ShowTyping {
  const slots = new FairSlots(IN_FLIGHT)
  const send = (workspace: number, request: Parameters<HttpClient['send']>[0]) => {
    const release = slots.take([workspace])
    if (release === undefined) return
    void http
      .send(request)
      .catch(() => {})
      .finally(release)
  }
  return ({ channel, record, message }, settled) => {
    const typing = typingOf(channel, message, record.source)
    if (typing === undefined) return
    const { workspace } = record
    send(workspace, typing.request)
    const timer = setInterval(() => send(workspace, typing.request), typing.everyMs)
    void settled.finally(() => clearInterval(timer))
  }
}

/** Undefined where there is nothing to show. */
function typingOf({ callback, config }: Channel, message: WebhookMessage, source: string) {
  const provider = providerNamed(callback)
  if (provider?.outbound.typing === undefined || provider.inbound?.source !== source) return undefined
  const found = sendSettings(provider, config)
  if (config.typing === false || 'lacking' in found) return undefined
  const { typing } = provider.outbound
  const request = typing.request({ settings: found.settings, message })
  return (
    request && {
      request: { ...request, timeoutMs: TIMEOUT_MS, maxBytes: MAX_RESPONSE_BYTES },
      everyMs: typing.everyMs,
    }
  )
}
