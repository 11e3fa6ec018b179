import { campaignView, campaignViewExample } from '@parley/campaigns/campaigns/api/campaign-schema'
import { personExample, personView } from '@parley/campaigns/people/person-schema'
import { templateExample, templateView } from '@parley/campaigns/templates/template-schema'
import { definitions } from '@parley/configuration/resources/all-resources'
import { detail, detailExample } from '@parley/dispatcher/api/messages/message-schemas'
import { notice, noticeExample } from '@parley/dispatcher/api/notices/notice-routes'
import { CHANNEL_NOTICE, MESSAGE_EVENTS, TASK_EVENTS, THREAD_EVENTS } from '@parley/shared/event-types'
import { jsonObject, safeInteger } from '@parley/shared/json-object'
import { message, messageExample } from '@parley/webhook/native/receive'
import { z } from 'zod'
import type { Schemas } from './schemas.ts'

const AT = '2026-11-20T11:36:37.316Z'
const time = z.iso.datetime()

/** Requests that Parley posts: events to subscriptions, and messages to handlers. Standard Webhooks signs both. */
export function webhooks(schemas: Schemas): Record<string, object> {
  const event = (type: string, summary: string, data: z.ZodType, example: object) => {
    const body = z.object({ type: z.literal(type), timestamp: time, workspace: safeInteger, data })
    return posted(schemas, {
      ...{ id: `on${named(type)}`, tag: 'subscriptions', summary },
      description:
        'Posted to the `url` of each subscription that names it. Any 2xx within 15 s means that it has arrived.',
      body: { schema: body, example: { type, timestamp: AT, workspace: 1, data: example } },
      responses: { '2XX': { description: 'It has arrived; anything else, and it comes again' } },
    })
  }
  const each = (types: readonly string[], about: string, data: z.ZodType, example: object) =>
    types.map((type) => [type, event(type, `${about}: ${type.split('.')[1]}`, data, example)])
  return {
    ...Object.fromEntries([
      ...each(MESSAGE_EVENTS, 'A message', detail, detailExample),
      ...each(THREAD_EVENTS, 'A thread', jsonObject, { _id: 'order-4711' }),
      ...each(TASK_EVENTS, 'A task', taskData, { _id: 1, task: { _id: 1, ...definitions.tasks.example } }),
    ]),
    [CHANNEL_NOTICE]: event(
      CHANNEL_NOTICE,
      'Something happened to a channel at its provider',
      notice,
      noticeExample,
    ),
    'campaign.state_changed': event(
      'campaign.state_changed',
      'A campaign is in another state',
      stateData,
      stateExample,
    ),
    'template.status_changed': event(
      'template.status_changed',
      'A template has another status at its provider',
      statusData,
      statusExample,
    ),
    'person.consent_changed': event(
      'person.consent_changed',
      'Somebody agreed, or opted out, otherwise than by an imported file',
      consentData,
      consentExample,
    ),
    'configuration.{resource}.{operation}': event(
      'configuration.assistant.updated',
      'A document of the configuration: created, updated or deleted',
      changeData,
      changeExample,
    ),
    'subscription.disabled': event(
      'subscription.disabled',
      'Another subscription was turned off',
      subscriptionData,
      { subscription: { _id: 2, name: 'Old warehouse', url: 'https://old.example.com/parley' } },
    ),
    'subscription.test': event('subscription.test', 'A test', subscriptionData, {
      subscription: { _id: 1, name: 'Data warehouse' },
    }),
    handler: handler(schemas),
  }
}

const taskData = z
  .object({
    _id: safeInteger,
    step: z.number().nullish().describe('The step that is completed, with `task.step_completed`'),
    task: jsonObject.nullable().describe('The task as it is now, as `GET /rest/tasks/{id}` shows it'),
  })
  .meta({ id: 'TaskEventData' })

const changeData = z
  .object({
    resource: z.string().describe('As in the path'),
    _id: safeInteger,
    version: z.number().int(),
    operation: z.enum(['created', 'updated', 'deleted']),
    by: z.looseObject({ _id: safeInteger, username: z.string() }).optional(),
    document: jsonObject.nullable().describe('As it is now, secrets masked; null once it is deleted'),
  })
  .meta({ id: 'ConfigurationEventData' })
const changeExample = {
  ...{ resource: 'assistant', _id: 1, version: 2, operation: 'updated' },
  ...{ by: { _id: 1, username: 'ana@example.com' }, document: { _id: 1, ...definitions.assistant.example } },
}

const by = z.object({ _id: safeInteger, username: z.string() })
const runtime = { _id: 0, username: 'runtime' }
const stateData = z
  .object({
    _id: z.uuid(),
    state: z.string().nullable().describe('Null once it is deleted'),
    before: z.string().nullable().describe('Null where it is new'),
    reason: z.string().optional().describe('Why it paused'),
    channel: safeInteger.optional(),
    by: by.describe('`runtime` where it did so by itself'),
    campaign: campaignView.nullable().describe('As it is now; null once it is deleted'),
  })
  .meta({ id: 'CampaignEventData' })
const stateExample = {
  ...{ _id: campaignViewExample._id, state: 'paused', before: 'running', reason: 'template_paused' },
  ...{ channel: 1, by: runtime, campaign: campaignViewExample },
}
const statusData = z
  .object({
    _id: z.string(),
    status: z.string(),
    before: z.string(),
    by,
    template: templateView.nullable().describe('As it is now; null once it is deleted'),
  })
  .meta({ id: 'TemplateEventData' })
const statusExample = {
  ...{ _id: templateExample._id, status: 'APPROVED', before: 'PENDING', by: runtime },
  template: templateExample,
}
const consentData = z
  .object({
    _id: z.uuid(),
    purpose: z.enum(['marketing', 'service']),
    status: z.enum(['granted', 'withdrawn']),
    source: z.string().describe('Where it was said'),
    text: z.string().optional().describe('The words that it was said with'),
    by: by.optional(),
    person: personView.describe('As they are now'),
  })
  .meta({ id: 'PersonEventData' })
const consentExample = {
  ...{ _id: personExample._id, purpose: 'marketing', status: 'withdrawn', source: 'message', text: 'Stop' },
  person: personExample,
}

const subscriptionData = z
  .object({ subscription: z.looseObject({ _id: safeInteger, name: z.string() }) })
  .meta({ id: 'SubscriptionEventData' })

function handler(schemas: Schemas): object {
  return posted(schemas, {
    ...{ id: 'onHandledMessage', tag: 'channels', summary: 'A message for a handler' },
    description: 'Posted to the `handlerUrl` of a channel, and answered with the reply.',
    body: { schema: message, example: { ...messageExample, answer: {}, input: 'Where is my order?' } },
    responses: {
      200: {
        description: 'The message with its `answer`',
        content: { 'application/json': { schema: schemas.of(message), example: messageExample } },
      },
    },
  })
}

function posted(
  schemas: Schemas,
  webhook: {
    id: string
    tag: string
    summary: string
    description: string
    body: { schema: z.ZodType; example: object }
    responses: Record<string, object>
  },
): object {
  const { id, tag, summary, description, body, responses } = webhook
  const { schema, example } = body
  return {
    post: {
      ...{ operationId: id, tags: [tag], summary, description, security: [] },
      parameters: HEADERS.map(([name, text]) => ({
        ...{ name, in: 'header', required: true, description: text, schema: { type: 'string' } },
      })),
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemas.of(schema), example } },
      },
      responses,
    },
  }
}

const HEADERS = [
  ['webhook-id', 'The same on every attempt'],
  ['webhook-timestamp', 'When this attempt was signed, in seconds since 1970'],
  ['webhook-signature', '`v1,` and the signature in base64; one for each secret, separated by blanks'],
] as const

/** `message.step_completed` as `MessageStepCompleted`. */
const named = (type: string): string =>
  type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())
