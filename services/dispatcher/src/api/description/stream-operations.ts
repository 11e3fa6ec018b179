import {
  type DescribedOperation,
  type OperationParameter,
  queryParameters,
} from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { threadStreamQuery } from '../streams/stream-routes.ts'

const tag = 'events'

const lastEventId: OperationParameter = {
  in: 'header',
  name: 'Last-Event-ID',
  required: false,
  schema: z.string(),
  description: 'The id of the last event that was seen: the stream goes on after it',
}

const response = {
  schema: z.string().describe('Server-sent events: `message`, `state`, `thread`, `delta`, `gap`'),
  example: 'event: state\nid: 6920bd5100000003.82\ndata: {"_id":"48341280","state":"sent"}\n\n',
  types: ['text/event-stream'],
} as const

const LASTS =
  'The stream lasts until the token ends, is revoked or its role changes; follow it anew from the last id then. At most 20 are open for a token. docs/event-streams.md says what each event holds.'

/** What happens, as it happens. */
export const streamOperations: readonly DescribedOperation[] = [
  {
    method: 'GET',
    path: '/rest/events',
    id: 'followEvents',
    tag,
    summary: 'Follow all messages and threads that the caller may read',
    description: LASTS,
    parameters: [lastEventId],
    response,
    errors: ['too_many_streams', 'validation_failed'],
  },
  {
    method: 'GET',
    path: '/rest/threads/{extId}/events',
    id: 'followThread',
    tag,
    summary: 'Follow one thread',
    description: LASTS,
    parameters: [
      {
        in: 'path',
        name: 'extId',
        required: true,
        schema: z.string(),
        example: '5511999990000',
        description: 'The external id of the thread',
      },
      lastEventId,
      ...queryParameters(threadStreamQuery, {
        channel: 'The external id of its channel, where several have such a thread',
      }),
    ],
    response,
    errors: ['too_many_streams', 'validation_failed'],
  },
]
