import type { WebhookMessage } from '@parley/shared/message'
import type { mongo } from 'mongoose'
import type { Channel } from '../../channels/channels.ts'
import { quotedBy } from '../../conversations/quoted-messages.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import type { Agent } from '../agent.ts'
import type { ModelRequest } from '../model-client.ts'
import type { Toolbox } from '../toolbox.ts'
import { imageItems } from '../tools/tool-images.ts'
import type { Agents } from './agents.ts'
import { clockOf, turnSettingsOf } from './bounds.ts'
import { dataItem, personItems, turnItems, withServers } from './conversation-items.ts'

type Needed = Pick<Agents, 'openToolbox' | 'toolImages' | 'readHistory' | 'readQuoted' | 'promptOf'>

/**
 * What a model is given for the next turn of a message. Of the earlier messages those that are `visible`, without what they
 * quote, where that is said. Rejects with `unavailable`.
 */
export async function modelRequest(
  agents: Needed,
  {
    record,
    channel,
    message,
    agent,
    now,
    visible,
  }: {
    record: MessageRecord
    channel: Channel
    message: WebhookMessage
    agent: Agent
    now: number
    visible?: mongo.Filter<MessageRecord> | undefined
  },
): Promise<{
  request: Pick<ModelRequest, 'workspace' | 'system' | 'conversation' | 'tools'>
  toolbox: Toolbox
  data: object
}> {
  const { _id: messageId, workspace, thread } = record
  const toolbox = await agents.openToolbox({ agent, channel, messageId, thread, message })
  const earlier = await agents.readHistory(record, { ...turnSettingsOf(channel.config), visible })
  const quoted = visible === undefined ? await quotedBy(agents.readQuoted, record, message) : undefined
  const prompt = agents.promptOf({ agent, channel, message, now: clockOf(record, now) })
  const { system } = prompt
  const data = withServers(prompt.data, toolbox)
  const conversation = [
    ...earlier,
    dataItem(data),
    ...personItems({ ...record, message, quoted }),
    ...turnItems(record, { isCurrent: true }),
    ...imageItems(agents.toolImages, callsOf(record)),
  ]
  return { request: { workspace, system, conversation, tools: toolbox.descriptions }, toolbox, data }
}

/** The calls that were made of a message, by the ids of their sends. */
function callsOf({ sends, turns = [] }: MessageRecord): { tool: string; id: string }[] {
  return sends.flatMap(({ id, of }) => {
    const call = of?.call === undefined ? undefined : turns[of.turn]?.calls[of.call]
    return call === undefined ? [] : [{ id, tool: call.tool }]
  })
}
