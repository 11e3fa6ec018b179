import { type Listening, listen } from '@parley/local/testing/service-under-test'

/** The bytes of the one file that there is. */
export const PHOTO = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

export interface BotCall {
  at: number
  method: string
  body: { chat_id?: number; text?: string; action?: string }
}

/** A server with the shape of Telegram's Bot API, of one bot. */
export interface BotApi extends Listening {
  calls: BotCall[]
  /** The next call of `sendMessage` is refused: 429, with so many seconds to wait. */
  refuseNext(retryAfterSeconds: number): void
}

export async function startBotApi(token: string): Promise<BotApi> {
  const calls: BotCall[] = []
  let refusal: number | undefined
  const respond = (method: string, body: BotCall['body']): [number, object] => {
    if (method === 'getFile') return [200, { ok: true, result: { file_path: 'photos/file_1.png' } }]
    if (method === 'sendChatAction') return [200, { ok: true, result: true }]
    if (method !== 'sendMessage') return [404, failure(404, 'Not Found')]
    const seconds = refusal
    refusal = undefined
    if (seconds !== undefined)
      return [429, { ...failure(429, 'Too Many Requests'), parameters: { retry_after: seconds } }]
    return [
      200,
      { ok: true, result: { message_id: calls.length, chat: { id: body.chat_id }, text: body.text } },
    ]
  }
  const listening = await listen(async (req, res) => {
    const { pathname } = new URL(req.url ?? '', 'http://bot.example')
    if (pathname === `/file/bot${token}/photos/file_1.png`) return void res.end(PHOTO)
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const [, method = ''] = pathname.split(`/bot${token}/`)
    const body = text === '' ? {} : JSON.parse(text)
    calls.push({ at: Date.now(), method, body })
    const [status, response] = respond(method, body)
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(response))
  })
  return {
    ...listening,
    calls,
    refuseNext(retryAfterSeconds) {
      refusal = retryAfterSeconds
    },
  }
}

const failure = (code: number, description: string) => ({ ok: false, error_code: code, description })
