import type { Callback } from '../channels/callback.ts'
import type { Channel } from '../channels/channels.ts'
import type { Functions } from '../channels/functions/functions.ts'
import type { MayLeave } from '../channels/http/http-client.ts'
import type { RateKeys } from '../channels/send-rate-limit/local-rate.ts'
import type { CallKind } from '../message/call-result.ts'
import type { FunctionContent, PersonalContent, Send } from '../message/message-record.ts'
import type { Outcome } from '../message/outcome.ts'
import type { Planned } from './prepare.ts'

/** How one send leaves. */
export interface DeliveryRoute {
  /** Whether the other side reports later what became of it. */
  reports: boolean
  /** What it counts against, where the other side allows only so many. */
  keys?: RateKeys | undefined
  /** What it calls; undefined where that can't be said. */
  url: string | undefined
  /** Where a model made it: what it is given of it. */
  call?: CallKind
  /** Makes one attempt. Nothing leaves where `mayLeave` says no once the connection is there. */
  deliver(mayLeave: MayLeave): Promise<Outcome>
}

export interface DeliveryRoutes {
  callbacks: Record<Channel['callback'], Callback>
  functions: Functions
}

/**
 * A send to the person leaves by the channel's callback, a function by the action that has it. Rejects with
 * `unavailable`.
 */
export async function routeOf(
  { callbacks, functions }: DeliveryRoutes,
  { channel, message }: Pick<Planned, 'channel' | 'message'>,
  send: Pick<Send, 'id' | 'of'> & { messageId: string; content: PersonalContent | FunctionContent },
): Promise<DeliveryRoute> {
  const { id, of, messageId, content } = send
  const call = { channel, messageId, message, id }
  if (content.kind === 'function') {
    const { url, deliver } = await functions.open({ ...call, content })
    return { reports: false, url, deliver }
  }
  const callback = callbacks[channel.callback]
  const keys = callback.rateKeys?.(channel, message)
  const deliver = (mayLeave: MayLeave) => callback.deliver({ ...call, content, mayLeave })
  const route: DeliveryRoute = { reports: callback.reports, keys, url: callback.urlOf?.(channel), deliver }
  return of?.call === undefined ? route : { ...route, call: 'sent' }
}
