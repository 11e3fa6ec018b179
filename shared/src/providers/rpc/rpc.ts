import { phoneDigits } from '../address.ts'
import { outcomeOfStatus } from '../http.ts'
import type { Outbound, ProviderSend } from '../outbound.ts'
import type { Provider } from '../provider.ts'
import type { Settings } from '../setting.ts'

/** An endpoint of whoever configures the channel gets what is to be sent, by a signed POST. */
export const rpc: Provider = {
  name: 'rpc',
  description: { label: 'RPC', title: 'An endpoint of yours gets the answers' },
  settings: [
    {
      key: 'callbackUrl',
      label: 'Endpoint',
      kind: 'url',
      note: 'Gets each answer as a signed POST',
      neededTo: 'send',
    },
  ],
  addresses: {
    find({ phone }) {
      const digits = phoneDigits(phone)
      return digits === undefined ? undefined : { kind: 'phone', value: digits }
    },
  },
  outbound: {
    reports: false,
    isStatusEnough: true,
    markup: 'Write plain text.',
    urlOf,
    request: (send) => ({
      method: 'POST',
      url: urlOf(send.settings) ?? '',
      headers: { 'content-type': 'application/json' },
      body: bodyOf(send),
      isSigned: true,
    }),
    outcomeOf: outcomeOfStatus,
  } satisfies Outbound,
}

function urlOf({ callbackUrl: url }: Settings): string | undefined {
  return url !== undefined && /^https?:/.test(url) && URL.canParse(url) ? url : undefined
}

function bodyOf({ id, message, content }: ProviderSend): string {
  const { kind: type, ...rest } = content
  const { more, ...said } = 'more' in rest ? rest : { ...rest, more: {} }
  const { id: messageId, channel, user, thread } = message
  return JSON.stringify({
    id,
    messageId,
    channel: channel._id,
    extId: channel.extId,
    user,
    thread,
    type,
    ...said,
    ...more,
  })
}
