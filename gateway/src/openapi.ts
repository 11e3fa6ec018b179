import type { Operation } from '@parley/shared/openapi/operation'
import { z } from 'zod'

const tag = 'operation'
const readiness = z
  .object({
    status: z.enum(['ready', 'degraded', 'not ready']),
    dependencies: z.record(z.string(), z.enum(['up', 'down'])),
  })
  .meta({ id: 'Readiness' })
const openApi = z.looseObject({ openapi: z.string() }).meta({ id: 'OpenApi' })

const upstreams = {
  webhook: 'up',
  configuration: 'up',
  dispatcher: 'up',
  campaigns: 'up',
  redis: 'up',
} as const

/** The operations of the gateway itself. */
export const operations: readonly Operation[] = [
  {
    method: 'GET',
    access: 'nothing',
    path: '/health/live',
    id: 'isLive',
    tag,
    summary: 'Whether the process runs',
    response: { schema: z.object({ status: z.literal('live') }), example: { status: 'live' } },
  },
  {
    method: 'GET',
    access: 'nothing',
    path: '/health/ready',
    id: 'isReady',
    tag,
    summary: 'Whether requests can be served',
    description:
      '`degraded` where something is unavailable that is not needed for all requests; 503 where callers can’t be told apart.',
    response: {
      schema: readiness,
      example: {
        status: 'ready',
        dependencies: { ...upstreams, identity: 'up', authentication: 'up' },
      },
    },
    others: {
      503: {
        description: 'Not now',
        content: {
          schema: readiness,
          example: {
            status: 'not ready',
            dependencies: { ...upstreams, identity: 'down', authentication: 'down' },
          },
        },
      },
    },
  },
  {
    method: 'GET',
    access: 'nothing',
    path: '/openapi.json',
    id: 'readOpenApi',
    tag,
    summary: 'This document',
    response: {
      schema: openApi,
      example: { openapi: '3.1.1' },
      headers: [{ name: 'ETag', description: 'The version of the document' }],
    },
    errors: ['rate_limited'],
    others: { 304: { description: 'It still has the tag that was sent' } },
  },
  {
    method: 'GET',
    access: 'nothing',
    path: '/openapi-3.0.json',
    id: 'readOpenApi30',
    tag,
    summary: 'This document as OpenAPI 3.0',
    description: 'For generators that read no 3.1. It has no `webhooks`.',
    response: {
      schema: openApi,
      example: { openapi: '3.0.3' },
      headers: [{ name: 'ETag', description: 'The version of the document' }],
    },
    errors: ['rate_limited'],
    others: { 304: { description: 'It still has the tag that was sent' } },
  },
  {
    method: 'GET',
    access: 'nothing',
    path: '/docs',
    id: 'readDocs',
    tag,
    summary: 'This document, for people',
    response: { schema: z.string(), example: '<!doctype html>…', types: ['text/html'] },
    errors: ['rate_limited'],
  },
]
