import type { WebhookMessage } from '@parley/shared/message'

export const SECRET = 'whsec_b25lIG9mIHR3byBzaWduaW5nIHNlY3JldHM='

/** A spec with one operation, `refund`, at that server. */
export const specAt = (server: string) => `
openapi: 3.1.0
info: { title: Orders, version: '1' }
servers: [{ url: '${server}/v1' }]
paths:
  /orders/{order}/refund:
    post:
      operationId: refund
      parameters: [{ name: order, in: path, required: true, schema: { type: string } }]
      requestBody:
        required: true
        content: { application/json: { schema: { type: object, required: [amount], properties: { amount: { type: number } } } } }
`
/** A call of it, as an answer has it. */
export const refund = { name: 'refund', args: { order: 'o 1', amount: 5 } }

export const actionAt = (server: string, more: object = {}) => ({
  name: 'Orders',
  description: '',
  specType: 'openapi3-yaml',
  moduleUrl: 'native:request',
  spec: specAt(server),
  ...more,
})

export const assistant = (more: object) => ({ name: '', description: '', backstory: '', ...more })

/** A channel whose answers go to `/callback` of that server. */
export const channelAt = (server: string, extId: string, assistantId: number, more: object = {}) => ({
  name: '',
  description: '',
  extId,
  hook: 'whatsapp',
  callback: 'rpc',
  handlerUrl: 'native:agents/echo',
  config: { callbackUrl: `${server}/callback`, assistantId, signingSecrets: [SECRET] },
  ...more,
})

export const message = (extId: string, answer: WebhookMessage['answer'], thread = extId) => ({
  extId,
  user: {},
  thread: { extId: thread },
  answer,
})
