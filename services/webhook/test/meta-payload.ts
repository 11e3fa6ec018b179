import { createHmac } from 'node:crypto'

const APP_SECRET = 'app secret'
export const VERIFY_TOKEN = 'verify token'

export const metaChannel = (extId: string, config: object = {}) => ({
  name: 'WhatsApp',
  description: '',
  extId,
  hook: 'whatsapp',
  callback: 'whatsapp',
  handlerUrl: 'native:agents/echo',
  config: { appSecret: APP_SECRET, verifyToken: VERIFY_TOKEN, ...config },
})

export const contact = { profile: { name: 'Zoë' }, wa_id: '5511999998888' }

/** A message as Meta sends it. */
export const metaMessage = (id: string, content: object) => ({
  from: '5511999998888',
  id,
  timestamp: '1760000000',
  ...content,
})

export const payloadOf = (value: object) => ({
  object: 'whatsapp_business_account',
  entry: [
    {
      id: '1',
      changes: [
        {
          field: 'messages',
          value: { messaging_product: 'whatsapp', metadata: { phone_number_id: '77' }, ...value },
        },
      ],
    },
  ],
})

export const signatureOf = (body: string | Buffer, secret = APP_SECRET): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

/** Posts to the address that Meta knows, signed unless a signature (or its lack) is given. */
export async function postPayload(
  url: string,
  payload: unknown,
  options: { signature?: string | null; headers?: Record<string, string> } = {},
): Promise<{ status: number; headers: Headers; json: Record<string, unknown> }> {
  const isRaw = typeof payload === 'string' || Buffer.isBuffer(payload)
  const body = isRaw ? payload : JSON.stringify(payload)
  const signature = options.signature === undefined ? signatureOf(body) : options.signature
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(signature === null ? {} : { 'x-hub-signature-256': signature }),
      ...options.headers,
    },
    body,
  })
  return { status: answer.status, headers: answer.headers, json: JSON.parse(await answer.text()) }
}
