import type { InboundDocumentation } from '../inbound.ts'

const objectWith = (properties: object, required?: string[]) => ({
  type: 'object',
  properties,
  ...(required && { required }),
  additionalProperties: {},
})
const CHANGES = { type: 'array', items: objectWith({ value: {} }, ['value']) }

export const documentation: InboundDocumentation = {
  name: 'Meta',
  original: { field: 'meta', description: 'The message as Meta sent it, where it came from there' },
  handshake: {
    id: 'verifyWebhook',
    summary: 'Meta’s handshake',
    query: [
      { name: 'hub.mode', description: '`subscribe`', example: 'subscribe' },
      {
        name: 'hub.verify_token',
        description: 'The channel’s `config.verifyToken`',
        example: 'a-token-of-ones-own',
      },
      { name: 'hub.challenge', description: 'What is to be repeated', example: '1158201444' },
    ],
    response: 'The challenge, repeated',
    example: '1158201444',
  },
  receive: {
    summary: 'Meta’s webhook',
    description:
      'Each message and status becomes one message. Up to 3 MB. `skipped` counts those that can’t be read, or whose ids have more than 1,024 characters; `GET /rest/hooks` then shows `updates_skipped`. `foreign` counts messages to another number than the channel’s `config.phoneNumberId` (`metadata.phone_number_id`): they are left out, and `GET /rest/hooks` shows `foreign_number`.',
    header: {
      name: 'X-Hub-Signature-256',
      description: '`sha256=` and the HMAC of the body with the channel’s `config.appSecret`, in hex',
      example: `sha256=${'0'.repeat(64)}`,
    },
    payload: {
      description: 'What Meta sends: messages and statuses, up to 10,000',
      properties: {
        object: { type: 'string' },
        entry: { type: 'array', items: objectWith({ changes: CHANGES }) },
      },
    },
    example: {
      object: 'whatsapp_business_account',
      entry: [
        {
          id: '1',
          changes: [
            {
              field: 'messages',
              value: {
                messaging_product: 'whatsapp',
                metadata: { display_phone_number: '15550001111', phone_number_id: '1001' },
                contacts: [{ profile: { name: 'João' }, wa_id: '5511988887777' }],
                messages: [
                  {
                    from: '5511988887777',
                    id: 'wamid.HBgN',
                    timestamp: '1763638597',
                    type: 'text',
                    text: { body: 'Where is my order?' },
                  },
                ],
              },
            },
          ],
        },
      ],
    },
  },
}
