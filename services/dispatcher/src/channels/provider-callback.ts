import type { JsonObject } from '@parley/shared/json-object'
import { parseJson } from '@parley/shared/parse-json'
import { type Address, addressText, ownAddresses } from '@parley/shared/providers/address'
import { sendSettings } from '@parley/shared/providers/complete-settings'
import type { ProviderRequest } from '@parley/shared/providers/http'
import type { ProviderContent, ProviderSend } from '@parley/shared/providers/outbound'
import type { Provider } from '@parley/shared/providers/provider'
import { providerNamed } from '@parley/shared/providers/registry'
import type { Settings } from '@parley/shared/providers/setting'
import type { LearnPerson } from '../conversations/learn-person.ts'
import { objectIn, objectOf } from '../message/object-content.ts'
import type { Outcome } from '../message/outcome.ts'
import { type Callback, DELIVERY_MS, type Delivery } from './callback.ts'
import type { Channel } from './channels.ts'
import { outcomeOfFailure, withRetryAfter } from './http/call-outcome.ts'
import { withErrorText } from './http/error-text.ts'
import { CallError, type HttpClient, type HttpResponse } from './http/http-client.ts'
import type { NumberRates } from './number-rates.ts'
import type { Signer } from './signing.ts'

const MAX_RESPONSE_BYTES = 64 * 1024

interface Performing {
  http: Pick<HttpClient, 'send'>
  signer: Signer
  numberRates: Pick<NumberRates, 'perSecond'>
  learnPerson: LearnPerson
}

/** Sends through a provider: it says what to request and what a response means, and this performs it. */
export function createProviderCallback(provider: Provider, performing: Performing): Callback {
  const { http, signer, numberRates, learnPerson } = performing
  const {
    outbound,
    addresses,
    description: { label },
  } = provider
  return {
    reports: outbound.reports,
    maxText: outbound.maxText,
    serviceWindow:
      outbound.serviceWindowMs === undefined ? undefined : { ms: outbound.serviceWindowMs, label },
    rateKeys(channel, message) {
      const { rates } = outbound
      const number = rates?.keyOf(textsIn(channel.config))
      const address = addresses.find(message.user)
      if (rates === undefined || number === undefined || address === undefined) return undefined
      const key = `${channel.workspace}:${number}`
      return {
        ...{ number: key, person: address.value, perPerson: rates.person },
        // Sends that wait for the number go by what it is known to take by then.
        get perSecond() {
          return numberRates.perSecond(channel, { key, provider, rates })
        },
      }
    },
    urlOf({ config }) {
      const found = sendSettings(provider, config)
      return 'settings' in found ? outbound.urlOf(found.settings) : undefined
    },
    async deliver(delivery) {
      const { channel, message, id, mayLeave } = delivery
      const content = contentOf(delivery)
      if (content === undefined) return otherProviders(delivery)
      const found = sendSettings(provider, channel.config)
      if ('lacking' in found) return misconfigured(provider, found.lacking, channel)
      const address = addresses.find(message.user)
      if (address === undefined && addresses.missing !== undefined)
        return { kind: 'permanent', code: 'no_address', fault: 'caller', reason: addresses.missing }
      const send: ProviderSend = {
        ...{ settings: found.settings, address, id, content },
        message: {
          id: delivery.messageId,
          channel: { _id: channel._id, extId: message.extId },
          user: message.user,
          thread: message.thread,
        },
      }
      const request = outbound.request(send)
      if ('kind' in request) return request
      try {
        const call = {
          ...signed(request, { delivery, signer }),
          timeoutMs: DELIVERY_MS,
          maxBytes: MAX_RESPONSE_BYTES,
          mayLeave,
        }
        const startedAt = performance.now()
        const answer = await http.send(call)
        const timeoutMs = startedAt + DELIVERY_MS - performance.now()
        const learning = { provider, delivery, address, timeoutMs, learnPerson }
        await learnFrom(answer, learning)
        return withErrorText(outcomeIn(provider, answer), answer, {
          ...call,
          said: outbound.errorTextOf?.(answer),
        })
      } catch (error) {
        const status = error instanceof CallError && outbound.isStatusEnough ? error.status : undefined
        return status === undefined
          ? outcomeOfFailure(error)
          : outcomeIn(provider, { status, headers: {}, body: '' })
      }
    },
  }
}

/** Learns the addresses of a send's recipient from the response, where the message lacks them. */
async function learnFrom(
  answer: HttpResponse,
  options: Pick<Performing, 'learnPerson'> & {
    provider: Provider
    delivery: Delivery
    address: Address | undefined
    timeoutMs: number
  },
): Promise<void> {
  const { provider, delivery, address: sentTo, timeoutMs, learnPerson } = options
  const person = provider.outbound.personOf?.(answer)
  if (person === undefined || sentTo === undefined) return
  const { channel, message } = delivery
  const known = new Set([sentTo, ...ownAddresses(message.user)].map(addressText))
  if (person.addresses.every((one) => known.has(addressText(one)))) return
  const { workspace } = channel
  await learnPerson({ timeoutMs, workspace, channel: message.extId, sentTo, person })
}

function outcomeIn({ outbound }: Provider, answer: HttpResponse): Outcome {
  return withRetryAfter(outbound.outcomeOf(answer), answer)
}

/** The settings that are texts, whether or not the others are there. */
const textsIn = (config: Channel['config']): Settings =>
  Object.fromEntries(Object.entries(config).filter(([, value]) => typeof value === 'string')) as Settings

/** Undefined for an object of another provider's. */
function contentOf({ channel, content, message }: Delivery): ProviderContent | undefined {
  if (content.kind === 'text') return content
  if (content.kind === 'template') {
    const { more, ...template } = content
    return more === undefined ? template : { ...template, more: parseJson(more) as JsonObject }
  }
  const object = objectIn(content)
  if (object?.provider !== channel.callback) return undefined
  return { kind: 'object', object: objectOf(object, message) ?? {} }
}

/** The request; what says so is signed by the channel's secret. */
function signed(
  { isSigned, ...request }: ProviderRequest,
  { delivery: { channel, id }, signer }: { delivery: Delivery; signer: Signer },
): Omit<ProviderRequest, 'isSigned'> {
  if (!isSigned) return request
  const headers = signer.headers({ channel, id, payload: request.body ?? '', at: new Date() })
  return { ...request, headers: { ...headers, ...request.headers } }
}

function otherProviders({ content }: Delivery): Outcome {
  const name = objectIn(content)?.provider ?? ''
  const label = providerNamed(name)?.description.label ?? name
  return {
    kind: 'permanent',
    code: `not_${name}`,
    fault: 'caller',
    reason: `The channel does not send through ${label}.`,
  }
}

function misconfigured(
  { description: { label } }: Provider,
  lacking: string[],
  { secretWithheld }: Channel,
): Outcome {
  const reason = secretWithheld ?? `The channel lacks what ${label} needs: ${lacking.join(', ')}.`
  return { kind: 'permanent', code: 'channel_not_configured', fault: 'channel', reason }
}
