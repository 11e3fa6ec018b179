import type { InternalClient } from '@parley/shared/internal-client'
import { CAMPAIGN_SOURCE } from '@parley/shared/message'
import { derivedMessageId } from '@parley/shared/messaging/message-publication'
import { providerNamed } from '@parley/shared/providers/registry'
import type { Connection } from 'mongoose'
import { z } from 'zod'
import type { PersonRecord } from '../../store/person-record.ts'
import type { CampaignCollections } from '../store/campaign-collections.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'

/** The dependencies of running campaigns. */
export interface CampaignServices {
  connection: Connection
  collections: CampaignCollections
  configuration: Pick<InternalClient, 'get'>
  webhook: Pick<InternalClient, 'post'>
  dispatcher: Pick<InternalClient, 'post'>
}

const channelFields = z.looseObject({
  _id: z.number(),
  extId: z.string(),
  callback: z.string(),
  name: z.string(),
})
export type CampaignChannel = Pick<z.output<typeof channelFields>, '_id' | 'extId' | 'callback' | 'name'>

/** The campaign's channel; undefined where it is deleted. Rejects with `unavailable`. */
export async function findChannel(
  { configuration }: Pick<CampaignServices, 'configuration'>,
  { workspace, channel }: { workspace: number; channel: number },
): Promise<CampaignChannel | undefined> {
  const found = await configuration.get(`/internal/workspaces/${workspace}/channels/${channel}`)
  return found === undefined ? undefined : channelFields.parse(found)
}

/** The id of the message to a recipient: the webhook derives it in the same way. */
export function messageIdOf({
  workspace,
  campaign,
  person,
}: {
  workspace: number
  campaign: string
  person: string
}): string {
  return derivedMessageId({ source: CAMPAIGN_SOURCE, workspace, channel: campaign, id: person })
}

const PHONE = 'phone:'

/** How a message names a person. */
function messageUserOf({ name, addresses }: Pick<PersonRecord, 'name' | 'addresses'>) {
  const phone = addresses.find((one) => one.startsWith(PHONE))?.slice(PHONE.length)
  const others = addresses.filter((one) => !one.startsWith(PHONE))
  return {
    ...(name !== undefined && { name }),
    ...(phone !== undefined && { phone: `+${phone}` }),
    ...(others.length > 0 && { addresses: others }),
  }
}

/** True if a channel can write to a person at all. */
export function hasAddress(
  channel: CampaignChannel,
  person: Pick<PersonRecord, 'name' | 'addresses'>,
): boolean {
  const addresses = providerNamed(channel.callback)?.addresses
  if (addresses === undefined) return false
  return addresses.missing === undefined || addresses.find(messageUserOf(person)) !== undefined
}

/** The message to a person. */
export function messageTo(
  campaign: Pick<CampaignRecord, '_id' | 'definition'>,
  {
    channel,
    person,
    recipient,
    variables,
  }: {
    channel: CampaignChannel
    person: Pick<PersonRecord, 'name' | 'addresses'>
    recipient: string
    variables: string[] | Record<string, string>
  },
): object {
  const { template, more } = campaign.definition
  return {
    extId: channel.extId,
    user: messageUserOf(person),
    thread: { ctx: { campaign: campaign._id, recipient } },
    answer: {
      functions: [
        {
          name: 'callback',
          args: { ...more, template: template.name, language: template.language, variables },
        },
      ],
    },
  }
}
