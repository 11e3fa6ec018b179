import { expect, test } from '@jest/globals'
import type { WebhookMessage } from '@parley/shared/message'
import { addressText } from '@parley/shared/providers/address'
import fc from 'fast-check'
import { placeOfMessage } from '../src/people/message-place.ts'
import type { PersonRecord } from '../src/people/person.ts'

const [SPELT, KNOWN, LEFT] = ['5582991234567', '558291234567', '558299990000']
const person = (threads: string[], addresses: string[]): PersonRecord => ({
  ...{ _id: threads[0] ?? '', workspace: 1, threads, addresses, left: [] },
  ...{ since: new Date(0), revision: 0, expiresAt: new Date(0) },
})
const ana = person([LEFT, SPELT], [`phone:${SPELT}`, `phone:${KNOWN}`, 'whatsapp:BR.1'])
/** The person who has the number that Ana left. */
const bob = person(['BR.2'], [`phone:${LEFT}`, 'whatsapp:BR.2'])
let lookUps = 0
const people = {
  find: async (_workspace: number, address: { kind: string; value: string }) => {
    lookUps++
    return [ana, bob].find(({ addresses }) => addresses.includes(addressText(address)))
  },
}
const placeOf = (user: WebhookMessage['user'], extId?: string) => {
  lookUps = 0
  const message = { extId: 'line', user, thread: extId === undefined ? {} : { extId }, answer: {} }
  return Promise.resolve(placeOfMessage(people, { workspace: 1, message, messageId: 'm' }))
}

test.each([
  ['the person’s, by number', { phone: SPELT }, undefined, LEFT],
  ['the person’s, however the number is written', { phone: `+55 (82) 99123-4567` }, undefined, LEFT],
  ['the person’s, by id', { phone: 'BR.1' }, undefined, LEFT],
  ['the person’s, named as their number', { phone: `+${SPELT}` }, SPELT, LEFT],
  ['the person’s, named as another number of theirs', { phone: SPELT }, `+${KNOWN}`, LEFT],
  ['the person’s, by its own name, though somebody else has that number now', { phone: SPELT }, LEFT, LEFT],
  ['of who has the number now', { phone: LEFT }, LEFT, 'BR.2'],
  ['the number’s, of who is not known', { phone: '+49 170 1230001' }, undefined, '491701230001'],
  ['the number’s, where it is named so', { phone: '+49 170 1230001' }, '49 170 1230001', '491701230001'],
  ['the one that it names, for somebody else', { phone: '491701230001' }, KNOWN, KNOWN],
  ['the one that it names, for nobody', {}, KNOWN, KNOWN],
  ['the one that it names', { phone: SPELT }, 'otp-1', 'otp-1'],
  ['its own, without any name', {}, undefined, 'm'],
  ['its own, for a text that is no address', { phone: 'order 4711' }, undefined, 'order 4711'],
  ['that of an address', { addresses: ['whatsapp:BR.1'] }, undefined, LEFT],
  [
    'of the number, whatever addresses are named beside it',
    { phone: '49170', addresses: ['whatsapp:BR.1'] },
    undefined,
    '49170',
  ],
])('a message’s thread is %s', async (_name, user, extId, thread) => {
  expect(await placeOf(user, extId)).toMatchObject({ thread })
  expect(lookUps).toBeLessThanOrEqual(1)
})

test('a number is one however it is written, and no other number', async () => {
  const digits = fc.stringMatching(/^[1-9]\d{7,14}$/)
  const between = fc.constantFrom('', ' ', '-', '.', '\u00a0', '\u2011', ' (', ') ')
  await fc.assert(
    fc.asyncProperty(
      digits,
      fc.array(between, { maxLength: 15 }),
      fc.boolean(),
      async (number, marks, hasPlus) => {
        const written = [...number].map((digit, at) => digit + (marks[at] ?? '')).join('')
        const phone = `${hasPlus ? '+' : ''}${written}`
        expect(await placeOf({ phone })).toMatchObject({ thread: number })
        const other = `${number.slice(0, -1)}${(Number(number.at(-1)) + 1) % 10}`
        expect(await placeOf({ phone }, other)).toMatchObject({ thread: other })
      },
    ),
  )
})
