import { expect, test } from '@jest/globals'
import { knownBy } from '../src/threads.ts'

test.each([
  [
    { name: 'Kim', phone: '+55 11 98888-7777' },
    ['phone:5511988887777', 'whatsapp:BR.1'],
    ['5511988887777', 'BR.1'],
  ],
  [{ phone: '+55 11 98888-7777' }, ['phone:5511988887777', 'whatsapp:BR.1'], ['BR.1']],
  [{ name: 'Kim', phone: 'BR.1' }, ['whatsapp:BR.1', 'phone:49170'], ['BR.1', '49170']],
  [{ name: 'Kim' }, undefined, []],
])('of %j with %j a team sees %j beside the name', (user, addresses, shown) => {
  expect(knownBy({ user, extId: 't', ...(addresses && { addresses }) })).toEqual(shown)
})
