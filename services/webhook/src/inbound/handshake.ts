import type { OperationParameter } from '@parley/shared/openapi/operation'
import { type Route, route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import type { Inbound } from '@parley/shared/providers/inbound'
import type { SecretBox } from '@parley/shared/sealed-value'
import { z } from 'zod'
import { receiveSettings } from '../channels.ts'
import type { HookLog } from '../hooks/hook-notes.ts'
import type { FindHook } from './find-hook.ts'
import { sameText } from './proof.ts'

const address: OperationParameter[] = [
  {
    in: 'path',
    name: 'slug',
    description: 'The first label of the workspace’s host',
    required: true,
    schema: z.string(),
    example: 'acme',
  },
  {
    in: 'path',
    name: 'channelExtId',
    description: 'The external id of the channel',
    required: true,
    schema: z.string(),
    example: 'support-line',
  },
]

/** The part that the requests to a channel's webhook are described by alike. */
export const hookAddress = (provider: string) => ({
  path: `/api/hooks/${provider}/{slug}/{channelExtId}` as const,
  access: 'nothing' as const,
  tag: 'webhooks',
  parameters: address,
  errors: ['not_found', 'forbidden'] as const,
})

interface Handshaking {
  findHook: FindHook
  notes: HookLog
  box: Pick<SecretBox, 'open'>
}

/** Responds to a provider's handshake when it knows the channel's secret. */
export function handshakeRoute(
  name: string,
  described: NonNullable<Inbound['documentation']['handshake']>,
): Route<Handshaking> {
  const { id, summary, query, example, response } = described
  return route({
    ...hookAddress(name),
    method: 'GET',
    id,
    summary,
    // Providers send what else they like.
    parameters: [
      ...address,
      ...query.map(
        (one): OperationParameter => ({ in: 'query', schema: z.string(), required: true, ...one }),
      ),
    ],
    response: { schema: z.string(), example, types: ['text/plain'], description: response },
    handle:
      ({ findHook, notes, box }: Handshaking) =>
      async (req, res) => {
        const hook = await findHook({ provider: name, ...req.params })
        if (hook?.provider.inbound.handshake === undefined) throw new Problem('not_found')
        const { provider, channel } = hook
        const asked = hook.provider.inbound.handshake(req.query, receiveSettings(channel, provider, box))
        if (!sameText(asked.given, asked.expected)) {
          notes.failed(
            channel,
            asked.expected === undefined ? asked.errors.notConfigured : asked.errors.wrong,
          )
          throw new Problem('forbidden', { detail: 'The verify token is not the one of this channel.' })
        }
        if (asked.response === undefined)
          throw new Problem('forbidden', { detail: 'This is not a subscription.' })
        notes.handshake(channel)
        res.set({ 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' })
        res.end(asked.response)
      },
  })
}
