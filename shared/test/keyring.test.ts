import { describe, expect, test } from '@jest/globals'
import { keyring } from '@parley/shared/sealed-value'
import { z } from 'zod'

describe('a keyring', () => {
  const schema = keyring({ minBytes: 4, maxBytes: 8 })
  const encoded = (text: string) => Buffer.from(text).toString('base64')

  test('uses the first secret and knows the others', () => {
    const ring = schema.parse(`b:${encoded('second')}, a:${encoded('first')}`)
    expect(ring.current).toEqual({ id: 'b', secret: Buffer.from('second') })
    expect(ring.secret('a')?.toString()).toBe('first')
    expect(ring.secret('c')).toBeUndefined()
  })

  test.each([
    '',
    'a',
    'a:',
    'a:!!!!',
    `a:${encoded('abc')}`,
    `a:${encoded('ninebytes')}`,
    `a:${encoded('four')},a:${encoded('four')}`,
  ])('refuses %j without repeating it', (text) => {
    const { error } = z.object({ RING: schema }).safeParse({ RING: text })
    expect(error?.issues[0]?.message).toMatch(/^is not id:base64/)
  })
})
