import { expect, test } from '@jest/globals'
import { createWebhookSigner } from '@parley/shared/signing-secret'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'

test('a signature is the one that the package of Standard Webhooks makes, whatever is signed', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 24, maxLength: 64 }),
      fc.string({ minLength: 1, unit: 'grapheme' }),
      fc.string({ unit: 'grapheme' }),
      fc.date({ min: new Date(0), max: new Date(4_000_000_000_000), noInvalidDate: true }),
      fc.boolean(),
      (key, id, payload, at, isPrefixed) => {
        const secret = (isPrefixed ? 'whsec_' : '') + Buffer.from(key).toString('base64')
        const seconds = Math.floor(at.getTime() / 1_000)
        expect(createWebhookSigner(secret)({ id, seconds, payload })).toBe(
          new Webhook(secret).sign(id, at, payload),
        )
      },
    ),
  )
})
