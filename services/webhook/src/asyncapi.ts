import { LOG_QUEUE, MESSAGES_EXCHANGE, PARTITIONS, partitionKey, STATUS_KEY } from '@parley/shared/broker'
import { safeInteger } from '@parley/shared/json-object'
import { MESSAGE_TYPE, webhookMessage } from '@parley/shared/message'
import { messageStatus, STATUS_TYPE } from '@parley/shared/message-status'
import { z } from 'zod'
import { audioReference } from './audio/audio-store.ts'

const headers = z.looseObject({
  workspace: safeInteger.describe('The workspace it belongs to'),
  channel: z.string().describe('External id of the channel, as the message names it'),
  channelId: safeInteger.optional().describe('Id of the channel, where it was known'),
  source: z.enum(['api', 'meta']).describe('Which of the two webhooks it came to'),
  requestId: z.string().describe('The request that brought it'),
  traceparent: z.string().optional().describe('Trace context (W3C)'),
})
const messageHeaders = headers.extend({ thread: z.string().describe('What it is ordered by') })
const publishedMessage = webhookMessage.extend({
  audioRef: audioReference
    .optional()
    .describe('In the place of audio over 128 KiB, which is null then and kept beside the message'),
  meta: z.unknown().optional().describe('The message as Meta sent it, where it came from there'),
})

/** What is published to exchange `messages`, as AsyncAPI 3; made from the very schemas that intake validates by. */
export function asyncApi(): object {
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Parley: messages and statuses',
      version: '1.0.0',
      description: `What intake publishes to the topic exchange \`${MESSAGES_EXCHANGE}\`, and the stream \`${LOG_QUEUE}\` keeps for 7 days. A message id that comes again is the same message.`,
    },
    defaultContentType: 'application/json',
    channels: {
      messages: channel({
        address: '{partition}',
        description: 'Messages, those of one thread in order',
        message: 'messageReceived',
        parameters: {
          partition: {
            enum: Array.from({ length: PARTITIONS }, (_, at) => partitionKey(at)),
            description: 'By workspace and thread',
          },
        },
      }),
      statuses: channel({
        address: STATUS_KEY,
        description: "The provider's news of what was sent",
        message: 'messageStatus',
      }),
    },
    operations: {
      publishMessage: { action: 'send', channel: { $ref: '#/channels/messages' } },
      publishStatus: { action: 'send', channel: { $ref: '#/channels/statuses' } },
    },
    components: {
      messages: {
        messageReceived: message(MESSAGE_TYPE, messageHeaders, publishedMessage),
        messageStatus: message(STATUS_TYPE, headers, messageStatus),
      },
    },
  }
}

function channel(options: {
  address: string
  description: string
  message: string
  parameters?: object
}): object {
  const { address, description, message: name, parameters } = options
  return {
    address,
    description,
    ...(parameters === undefined ? {} : { parameters }),
    messages: { [name]: { $ref: `#/components/messages/${name}` } },
    bindings: {
      amqp: { is: 'routingKey', exchange: { name: MESSAGES_EXCHANGE, type: 'topic', durable: true } },
    },
  }
}

function message(name: string, headersSchema: z.ZodType, payload: z.ZodType): object {
  return {
    name,
    contentType: 'application/json',
    headers: jsonSchema(headersSchema),
    payload: jsonSchema(payload),
    bindings: { amqp: { messageType: name } },
  }
}

function jsonSchema(schema: z.ZodType): object {
  return z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: json }) => {
      // The only custom schemas are free-form objects.
      if (zodSchema._zod.def.type === 'custom') json.type = 'object'
    },
  })
}
