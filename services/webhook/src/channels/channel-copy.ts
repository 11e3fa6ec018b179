import { createHash } from 'node:crypto'
import { documentChange } from '@parley/shared/document-change'
import { jsonObject } from '@parley/shared/json-object'
import { parseJson } from '@parley/shared/parse-json'
import { z } from 'zod'
import type { ChannelCopy } from '../database.ts'

/** What the webhook service uses of a channel. */
const channelFields = z.looseObject({
  _id: z.number().int(),
  name: z.string(),
  extId: z.string(),
  hook: z.enum(['rpc', 'whatsapp']),
  config: jsonObject,
})

/** A channel as configuration answers it: the document and its version. */
export const versionedChannel = channelFields.extend({ version: z.number().int() })

/** The news of one write to a channel, as it comes over exchange `configuration`. */
export const channelChange = documentChange.extend({
  resource: z.literal('channels'),
  document: channelFields.nullable(),
})

export type VersionedChannel = z.output<typeof versionedChannel>

/** A channel as this service knows it. */
export interface Channel {
  workspace: number
  _id: number
  name: string
  extId: string
  hook: 'rpc' | 'whatsapp'
  config: Record<string, unknown>
}

export const copyId = (workspace: number, id: number): string => `${workspace}/${id}`

export const hashOf = (extId: string): string => createHash('sha256').update(extId).digest('base64url')

/** The channels in `copies` with this external id, lowest id first; those whose `hook` is WhatsApp come before. */
export function channelsIn(copies: ChannelCopy[], extId: string): Channel[] {
  const channels = copies.flatMap(({ workspace, document }): Channel[] => {
    if (document === undefined) return []
    const { _id, name, extId, hook, config } = parseJson(document) as Channel
    return [{ workspace, _id, name, extId, hook, config }]
  })
  const rank = ({ hook }: Channel) => (hook === 'whatsapp' ? 0 : 1)
  return channels
    .filter((channel) => channel.extId === extId)
    .sort((one, other) => rank(one) - rank(other) || one._id - other._id)
}
