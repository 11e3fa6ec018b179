import { describe, expect, test } from '@jest/globals'
import { verifyWebhook, WebhookVerificationError } from '@parley/client/webhook'
import { Webhook } from 'standardwebhooks'

const [old, current] = [1, 2].map((n) => `whsec_${Buffer.alloc(32, n).toString('base64')}`) as [
  string,
  string,
]
const body = '{"extId":"line"}'

const signed = (secret: string, at = new Date()) => ({
  'Webhook-Id': 'm-1',
  'Webhook-Timestamp': String(Math.floor(at.getTime() / 1_000)),
  'Webhook-Signature': new Webhook(secret).sign('m-1', at, body),
})

describe('verifyWebhook', () => {
  test('returns the body that one of the secrets signed, from headers of either kind', () => {
    expect(verifyWebhook(signed(current), body, current)).toEqual({ extId: 'line' })
    expect(verifyWebhook(new Headers(signed(old)), Buffer.from(body), [current, old])).toEqual({
      extId: 'line',
    })
  })

  test.each([
    ['another body', () => verifyWebhook(signed(current), '{"extId":"other"}', current)],
    ['another secret', () => verifyWebhook(signed(old), body, current)],
    ['an old time', () => verifyWebhook(signed(current, new Date(Date.now() - 600_000)), body, current)],
    ['no signature', () => verifyWebhook({}, body, current)],
    ['no secret', () => verifyWebhook(signed(current), body, [])],
  ])('refuses %s', (_what, verify) => {
    expect(verify).toThrow(WebhookVerificationError)
  })
})
