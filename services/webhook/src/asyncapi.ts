import { channelNotice, NOTICE_TYPE } from '@parley/shared/channel-notice'
import { CONFIGURATION_RESOURCES } from '@parley/shared/configuration-resources'
import { defined } from '@parley/shared/defined'
import { DOCUMENT_CHANGE_TYPE, documentChange } from '@parley/shared/document-change'
import { safeInteger } from '@parley/shared/json-object'
import { MESSAGE_TYPE, webhookMessage } from '@parley/shared/message'
import { messageStatus, STATUS_TYPE } from '@parley/shared/message-status'
import { SLOTS, slotKey } from '@parley/shared/messaging/layout'
import {
  CONFIGURATION_EXCHANGE,
  LOG_QUEUE,
  MESSAGES_EXCHANGE,
  NOTICE_KEY,
  STATUS_PARTITIONS,
  statusKey,
  TASKS_QUEUE,
} from '@parley/shared/messaging/topology'
import { jsonSchemaOf } from '@parley/shared/openapi/operation'
import { route } from '@parley/shared/openapi/route'
import { allProviders } from '@parley/shared/providers/registry'
import { TASK_SUBMISSION_TYPE, taskSubmission } from '@parley/shared/task-submission'
import { z } from 'zod'
import { audioReference } from './audio/audio-store.ts'

const senders = allProviders().flatMap(({ inbound }) => inbound ?? [])
const sources = senders.map(({ source }) => source)
const originals = Object.fromEntries(
  senders.map(({ documentation: { original } }) => [
    original.field,
    z.unknown().optional().describe(original.description),
  ]),
)

const headers = z.looseObject({
  workspace: safeInteger.describe('The workspace it belongs to'),
  channel: z.string().describe('External id of the channel, as the message names it'),
  channelId: safeInteger.optional().describe('Id of the channel, where it was known'),
  source: z
    .enum(['api', ...sources])
    .describe('Which webhook it came to: that of the API, or that of a provider'),
  requestId: z.string().describe('The request that brought it'),
  traceparent: z.string().optional().describe('Trace context (W3C)'),
})
const messageHeaders = headers.extend({
  thread: z.string().describe('What it is ordered by: of its person, whichever of their addresses it names'),
  joined: z
    .array(z.string())
    .optional()
    .describe('Names of threads that turned out to be the same person’s, and go on in this one'),
})
const publishedMessage = webhookMessage.extend({
  audioRef: audioReference
    .optional()
    .describe('In the place of audio over 128 KiB, which is null then and stored apart from the message'),
  ...originals,
})

const changeHeaders = z.looseObject({
  workspace: safeInteger.describe('The workspace it belongs to'),
  version: safeInteger.describe('That of the document'),
})
const submissionHeaders = changeHeaders.pick({ workspace: true })

export const readAsyncApi = route({
  method: 'GET',
  path: '/asyncapi.json',
  access: 'nothing',
  id: 'readAsyncApi',
  tag: 'operation',
  summary: 'What is published to the message broker',
  response: {
    schema: z.looseObject({ asyncapi: z.string() }).meta({ id: 'AsyncApi' }),
    example: { asyncapi: '3.0.0' },
  },
  handle: () => {
    const document = asyncApi()
    return (_req, res) => void res.json(document)
  },
})

/** Describes what services publish, as AsyncAPI 3; made from the very schemas that they validate by. */
export function asyncApi(): object {
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Parley: messages, statuses, submissions and changes',
      version: '1.1.0',
      description: `What intake publishes to the topic exchange \`${MESSAGES_EXCHANGE}\`, and the stream \`${LOG_QUEUE}\` keeps for 7 days; what answers submit to tasks; and every change to the configuration, on the topic exchange \`${CONFIGURATION_EXCHANGE}\`. A message id that comes again is the same message.`,
    },
    defaultContentType: 'application/json',
    channels: {
      messages: channel({
        address: '{slot}',
        description: 'Messages, those of one thread in order',
        message: 'messageReceived',
        parameters: {
          slot: {
            enum: Array.from({ length: SLOTS }, (_, slot) => slotKey(slot)),
            description: 'By workspace and thread; it stays the same whatever the number of partitions',
          },
        },
      }),
      statuses: channel({
        address: '{partition}',
        description: "The provider's statuses of what was sent, those of one send in order",
        message: 'messageStatus',
        parameters: {
          partition: {
            enum: Array.from({ length: STATUS_PARTITIONS }, (_, at) => statusKey(at)),
            description: "By the provider's id of the send",
          },
        },
      }),
      notices: channel({
        address: NOTICE_KEY,
        description: 'What happened to channels at their providers, in order',
        message: 'channelNotice',
      }),
      changes: channel({
        address: '{resource}.{operation}',
        description: 'Every change to the configuration, those of one document in order; some may come again',
        message: 'documentChanged',
        exchange: CONFIGURATION_EXCHANGE,
        parameters: {
          resource: { enum: [...CONFIGURATION_RESOURCES], description: 'The collection' },
          operation: { enum: ['created', 'updated', 'deleted'], description: 'What happened' },
        },
      }),
      submissions: {
        address: TASKS_QUEUE,
        description: 'What answers submit to the tasks of their threads',
        messages: { taskSubmitted: { $ref: '#/components/messages/taskSubmitted' } },
        bindings: { amqp: { is: 'queue', queue: { name: TASKS_QUEUE, durable: true } } },
      },
    },
    operations: Object.fromEntries(
      Object.entries({
        publishMessage: 'messages',
        publishStatus: 'statuses',
        publishNotice: 'notices',
        publishChange: 'changes',
        submit: 'submissions',
      }).map(([name, sent]) => [name, { action: 'send', channel: { $ref: `#/channels/${sent}` } }]),
    ),
    components: {
      messages: {
        messageReceived: message(MESSAGE_TYPE, messageHeaders, publishedMessage),
        messageStatus: message(STATUS_TYPE, headers, messageStatus),
        channelNotice: message(NOTICE_TYPE, headers, channelNotice),
        documentChanged: message(DOCUMENT_CHANGE_TYPE, changeHeaders, documentChange),
        taskSubmitted: message(TASK_SUBMISSION_TYPE, submissionHeaders, taskSubmission),
      },
    },
  }
}

function channel(options: {
  address: string
  description: string
  message: string
  exchange?: string
  parameters?: object
}): object {
  const { address, description, message: name, exchange = MESSAGES_EXCHANGE, parameters } = options
  return {
    address,
    description,
    ...defined({ parameters }),
    messages: { [name]: { $ref: `#/components/messages/${name}` } },
    bindings: {
      amqp: { is: 'routingKey', exchange: { name: exchange, type: 'topic', durable: true } },
    },
  }
}

function message(name: string, headersSchema: z.ZodType, payload: z.ZodType): object {
  return {
    name,
    contentType: 'application/json',
    headers: jsonSchemaOf(headersSchema),
    payload: jsonSchemaOf(payload),
    bindings: { amqp: { messageType: name } },
  }
}
