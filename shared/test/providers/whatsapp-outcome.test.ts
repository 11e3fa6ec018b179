import { describe, expect, test } from '@jest/globals'
import { outcomeOf } from '../../src/providers/whatsapp/outcome.ts'

const refusal = (code: number) => JSON.stringify({ error: { message: 'no', code } })

describe("what Meta's answer means", () => {
  test.each([
    [
      '200 with an id',
      200,
      '{"messages":[{"id":"wamid.1"}]}',
      { kind: 'accepted', providerId: 'wamid.1', delivered: false },
    ],
    ['200 with something else may have been sent', 200, '<html>', { kind: 'uncertain' }],
    ['an answer of a proxy in between', 502, '<html>', { kind: 'uncertain' }],
    ['a time-out of a proxy in between', 504, '', { kind: 'uncertain' }],
    ['a plain 500', 500, '', { kind: 'retryable' }],
    ['a plain 429', 429, '', { kind: 'retryable' }],
    ['a plain 403', 403, '', { kind: 'permanent', fault: 'channel' }],
    ...[1, 2, 4, 80007, 130429, 131000, 131016, 131056, 131057, 133004].map(
      (code) => [`code ${code}`, 400, refusal(code), { kind: 'retryable', code: String(code) }] as const,
    ),
    ['131048, slowly', 400, refusal(131048), { kind: 'retryable', retryAfterSeconds: 3_600 }],
    ['131049, after a day', 400, refusal(131049), { kind: 'retryable', retryAfterSeconds: 86_400 }],
    ['an expired token', 401, refusal(190), { kind: 'permanent', fault: 'channel', code: '190' }],
    ['a wrong parameter count', 400, refusal(132000), { kind: 'permanent', fault: 'caller' }],
    ['a person who can not be reached', 400, refusal(131026), { kind: 'permanent', fault: 'caller' }],
  ] as const)('%s', (_name, status, body, expected) => {
    expect(outcomeOf({ status, body, headers: {} })).toMatchObject(expected)
  })

  test('a number that sends too fast is to slow down', () => {
    expect(outcomeOf({ status: 429, body: refusal(130429), headers: {} })).toMatchObject({ isTooFast: true })
    expect(outcomeOf({ status: 429, body: refusal(131056), headers: {} })).not.toHaveProperty('isTooFast')
  })
})
