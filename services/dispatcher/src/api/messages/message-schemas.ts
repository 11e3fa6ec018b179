import { safeInteger } from '@parley/shared/json-object'
import { acceptedMessage } from '@parley/shared/message'
import type { OperationParameter } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { FAULTS } from '../../message/message-record.ts'
import { messageState } from './filter.ts'

const AT = '2026-11-20T11:36:37.316Z'
export const MESSAGE_ID = '48341280-0a59-806f-9695-a1f7fc5fde77'
const time = z.iso.datetime()

export const idParameter: OperationParameter = {
  in: 'path',
  name: 'id',
  required: true,
  schema: z.string(),
  example: MESSAGE_ID,
  description: 'As the post answered with in `X-Message-Id`',
}

const waiting = z
  .object({
    for: z
      .string()
      .describe(
        '`retry`, `rate`, `circuit_breaker`, `status`, `model`, `answer` (of a handler or an endpoint), `thread`, `turn` (its workspace is next in a moment), `schedule` (its `sendAt`), …',
      ),
    since: time,
    until: time.optional().describe('When it is looked at again'),
    code: z.string().optional().describe('Of the attempt that failed last'),
    error: z.string().optional().describe('What the other side said of it: 500 bytes at most'),
    message: z.string().optional().describe('The message of its thread that has to end first'),
  })
  .meta({ id: 'Waiting', description: 'What a message waits for' })

const addresses = z
  .array(z.string())
  .describe('What the person is written to or known by, such as `phone:5511988887777`')

export const summary = z
  .object({
    _id: z.string(),
    channel: z.string().describe('The external id that the message names'),
    channelId: safeInteger.optional().describe('Its `_id`, where it was known when the message came in'),
    thread: z.string(),
    phone: z.string().optional().describe("The digits of the recipient's number, where it has one"),
    addresses: addresses.optional(),
    source: z.string().describe('`api`, or whose webhook it came by'),
    state: messageState,
    reason: z.string().optional().describe('Why it is not as it should be'),
    fault: z
      .enum(FAULTS)
      .nullish()
      .describe('Whose fault that is; `recipient`: the person’s own choice, as a provider reports it'),
    due: time.optional().describe('When it is tried again'),
    waitingFor: z
      .string()
      .optional()
      .describe('What that is waited for: `retry`, `status`, `circuit_breaker`'),
    gatheredInto: z
      .string()
      .optional()
      .describe('The later message of its thread whose answer is also the answer to this one'),
    waiting: waiting.optional().describe('While it waits, or is tried again'),
    receivedAt: time,
    updatedAt: time,
  })
  .meta({ id: 'MessageSummary', description: 'A message, and where it stands' })

const toolResult = z
  .object({
    state: z.enum(['done', 'failed']),
    status: z.number().int().optional().describe('Of HTTP, where it was answered over HTTP'),
    text: z.string().describe('At most 16 KiB'),
    cut: z.literal(true).optional().describe('There was more'),
    uncertain: z
      .literal(true)
      .optional()
      .describe('It may have been done, and is not made again: the model was told to look it up'),
  })
  .meta({ id: 'ToolResult', description: 'What the model was given of a call' })

export const turn = z
  .object({
    at: time,
    provider: z.string(),
    model: z.string(),
    inputTokens: z.number(),
    outputTokens: z.number(),
    cachedTokens: z.number().optional().describe('Of the input those that the provider had in its cache'),
    ms: z.number().describe('How long the model took'),
    finishReason: z.string().describe('`stop`, `tool-calls`, `length`, …'),
    text: z.string().describe('What it said; empty when it only called tools'),
    calls: z.array(
      z.object({
        id: z.string().describe("The provider's id of the call"),
        tool: z.string(),
        args: z
          .unknown()
          .describe(
            'As the model wrote them; a text where that is no JSON, or has a number that readers of JSON would round',
          ),
        result: toolResult.optional(),
      }),
    ),
  })
  .meta({
    id: 'Turn',
    description: "What an agent's model answered, and what came of the tools that it called",
  })

export const detail = z
  .object({
    ...summary.shape,
    requestId: z.string().nullable(),
    message: acceptedMessage.describe('As it came in'),
    answer: acceptedMessage.shape.answer.optional().describe('Where a handler made one'),
    timeline: z.array(z.object({ at: time, state: messageState, reason: z.string().optional() })),
    sends: z
      .array(
        z.looseObject({
          id: z.string(),
          content: z.looseObject({ kind: z.string() }),
          state: z.string(),
          providerId: z.string().optional(),
          failure: z
            .object({ code: z.string(), fault: z.enum(FAULTS), reason: z.string() })
            .optional()
            .describe('As the provider reported it after it had taken it'),
          retryAt: time.optional().describe('When it is sent again after that'),
          pricing: z
            .object({
              category: z.string(),
              type: z.string().nullable(),
              model: z.string().nullable(),
              billable: z.boolean().nullable(),
            })
            .optional()
            .describe('What the provider says that it costs'),
        }),
      )
      .describe('What leaves for the person or an action, each with what became of it'),
    submit: z
      .object({ id: z.string(), state: z.enum(['pending', 'submitted']) })
      .optional()
      .describe("Whether what the answer submits has been handed to the thread's task"),
    attempts: z.array(
      z.looseObject({
        at: time,
        step: z
          .string()
          .describe(
            '`handler`, `model`, the id of a send, or `message` where something went wrong on our side',
          ),
        outcome: z.enum(['accepted', 'retryable', 'permanent', 'uncertain']),
        code: z.string().optional(),
        error: z
          .string()
          .optional()
          .describe('What the other side said of it: 500 bytes at most, without secrets and what was sent'),
        ms: z.number(),
      }),
    ),
    transcript: z
      .string()
      .optional()
      .describe("What is said in the message's audio, where an agent heard it"),
    changed: z
      .object({
        by: z.string(),
        at: z.iso.datetime(),
        text: z.string().optional(),
        isDeleted: z.literal(true).optional(),
      })
      .optional()
      .describe('How its writer has changed it since; `message` stays as it came in'),
    turns: z.array(turn).optional().describe('Where an agent with a model works the message'),
  })
  .meta({ id: 'Message', description: 'A message with all that happened to it' })

export const summaryExample = {
  _id: MESSAGE_ID,
  channel: 'support-line',
  channelId: 1,
  thread: 'order-4711',
  phone: '5511988887777',
  source: 'api',
  state: 'sent',
  receivedAt: AT,
  updatedAt: AT,
}
export const detailExample = {
  ...summaryExample,
  requestId: '1dbd2714-f645-43f5-8c44-7acf7b239106',
  message: {
    extId: 'support-line',
    user: {},
    thread: { extId: 'order-4711' },
    answer: { message: 'On its way.' },
  },
  timeline: [
    { at: AT, state: 'received' },
    { at: AT, state: 'sent' },
  ],
  sends: [
    {
      id: `${MESSAGE_ID}:0`,
      content: { kind: 'text', text: 'On its way.' },
      state: 'sent',
      providerId: 'sent.N73h',
    },
  ],
  attempts: [{ at: AT, step: `${MESSAGE_ID}:0`, outcome: 'accepted', ms: 12.3 }],
}
