import { safeInteger } from '@parley/shared/json-object'
import type { OperationParameter, OperationResponse } from '@parley/shared/openapi/operation'
import { z } from 'zod'

const AT = '2026-11-20T11:36:37.316Z'
const time = z.iso.datetime()

/** The path parameter that names a thread. */
export const threadParameter: OperationParameter = {
  in: 'path',
  name: 'id',
  required: true,
  schema: z.string(),
  example: 'order-4711',
  description: 'The `extId` of the thread, or its `_id`',
}

/** The errors of an operation on one thread. */
export const threadErrors = ['not_found', 'several_channels'] as const

const assigned = z.object({
  _id: safeInteger,
  name: z.string().describe('As it was then'),
  at: time.describe('Since when'),
  by: safeInteger.describe('Which user assigned it'),
})

/** A thread as it is listed. */
const threadSummarySchema = z
  .object({
    _id: z.string().describe('Opaque, and accepted wherever the `extId` is'),
    extId: z.string(),
    channel: z.string().describe('The external id of its channel'),
    user: z.looseObject({
      name: z.string().optional(),
      phone: z.string().optional(),
      email: z.string().optional(),
      username: z.string().optional().describe('What the person calls themselves at the provider'),
    }),
    addresses: z
      .array(z.string())
      .optional()
      .describe('What the person is written to or known by, such as `phone:4930901820`'),
    joined: z
      .array(z.string())
      .optional()
      .describe('Names of threads that turned out to be the same person’s: they go on here, and lead here'),
    handler: z.enum(['assistant', 'person']).describe('Who has it'),
    handlerUntil: time
      .optional()
      .describe(
        'Until when a person has it, where that ends by itself, as after what the business wrote in its app',
      ),
    status: z
      .enum(['open', 'resolved', 'snoozed'])
      .describe(
        'Whether the team is done with it, or has put it off: either way until the person writes again',
      ),
    snoozedUntil: time.optional().describe('When it is open again by itself'),
    assignee: assigned.optional().describe('Whose work it is, of the users'),
    team: assigned
      .optional()
      .describe('Whose work it is, of the teams: also of one that is deleted meanwhile'),
    labels: z.array(z.string()).optional().describe('What the team sorts it by'),
    lastMessage: z.string().describe('The beginning of what was said last, by whomever'),
    lastAt: time,
    unread: z.number().int().describe('What a person is to read; 1,000 at most are counted'),
    lastUnreadAt: time
      .optional()
      .describe('When the last message that a person was to read was received, also once it is read'),
    campaign: z
      .object({ _id: z.string(), at: time })
      .optional()
      .describe('The campaign that wrote to the person last, and when'),
    unreadFor: z
      .object({
        why: z.enum(['unanswered', 'handed_off', 'handler_is_person']),
        reason: z.string().nullable().describe('Why there was no answer, or what the assistant said'),
        message: z.string().describe('The `_id` of the message'),
        at: z.iso.datetime().describe('When it was received'),
      })
      .optional()
      .describe('Why, while there is something to read'),
    serviceWindowEndsAt: time
      .nullable()
      .describe('Until when the provider takes free text, where that is known'),
  })
  .meta({ id: 'ThreadSummary', description: "A person's thread on a channel" })

/** A thread as a search lists it. */
const listedThreadSchema = z
  .object({
    ...threadSummarySchema.shape,
    found: z
      .object({
        message: z.string().describe('The `_id` of the message'),
        at: time.describe('When it was received'),
        text: z.string().describe('What it says around the first of them, 160 characters at most'),
      })
      .optional()
      .describe('Where `q` finds it by a message: the newest that has all of the words'),
  })
  .meta({ id: 'ListedThread', description: 'A thread, with the message that it was found by' })

const task = z.object({
  _id: safeInteger,
  name: z.string(),
  status: z.string(),
  workflow: safeInteger,
  currentStep: safeInteger,
})

/** A thread as it is read by itself. */
export const threadSchema = z
  .object({
    ...threadSummarySchema.shape,
    task: task
      .nullable()
      .describe('The active task of the thread, where there is one that the caller may read'),
  })
  .meta({ id: 'Thread', description: "A person's thread on a channel, with its task" })

/** A thread as it is shown in the API's description. */
export const threadExample = {
  _id: 'WyJzdXBwb3J0LWxpbmUiLCJvcmRlci00NzExIl0',
  extId: 'order-4711',
  channel: 'support-line',
  user: { name: 'Joana Prado', phone: '+55 11 98888-7777' },
  handler: 'person',
  status: 'open',
  assignee: { _id: 2, name: 'Bruno Lima', at: AT, by: 1 },
  labels: ['delivery'],
  lastMessage: 'Where is my order?',
  lastAt: AT,
  unread: 1,
  lastUnreadAt: AT,
  serviceWindowEndsAt: '2026-11-21T11:36:37.316Z',
} as const

/** A page of the list. */
export const threadPage: OperationResponse = {
  schema: z
    .object({
      data: z.array(listedThreadSchema),
      next: z.string().nullable(),
      total: z
        .object({ count: z.int().min(0).max(1_000), isMore: z.boolean() })
        .optional()
        .describe('How many there are on all pages, where that is asked for; a thousand are counted at most'),
    })
    .meta({ id: 'ThreadPage' }),
  example: { data: [threadExample], next: null },
}
