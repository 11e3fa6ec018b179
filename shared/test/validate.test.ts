import { describe, expect, test } from '@jest/globals'
import { jsonObject } from '@parley/shared/json-object'
import { fieldErrorsOf } from '@parley/shared/validate'
import { z } from 'zod'

const schema = z.strictObject({
  name: z.string(),
  hook: z.enum(['rpc', 'whatsapp']),
  config: jsonObject,
  list: z.array(z.object({ id: z.number() })),
  either: z.union([z.string(), z.number()]),
})

const messagesOf = (value: unknown) => {
  const { error } = schema.safeParse(value)
  return Object.fromEntries(
    error ? fieldErrorsOf(error, value).map(({ path, message }) => [path, message]) : [],
  )
}

describe('a field error', () => {
  test('of a missing field, of whatever kind, is that it is required', () => {
    expect(messagesOf({ list: [{}] })).toEqual({
      ...{ '/name': 'is required', '/hook': 'is required', '/config': 'is required' },
      ...{ '/list/0/id': 'is required', '/either': 'is required' },
    })
  })

  test('of a field that is there says what is wrong with it', () => {
    const messages = messagesOf({
      name: null,
      hook: 'x',
      config: 1,
      list: [{ id: 'x' }],
      either: null,
      typo: 1,
    })
    expect(Object.values(messages)).not.toContain('is required')
    expect(messages['/name']).toContain('received null')
    expect(Object.keys(messages)).toHaveLength(6)
  })

  test('of several forms is that of the one that was meant', () => {
    const forms = z.union([
      z.strictObject({ text: z.string() }),
      z.strictObject({ template: z.string(), buttons: z.array(z.strictObject({ type: z.string() })) }),
    ])
    const pathsOf = (value: unknown) => {
      const { error } = forms.safeParse(value)
      return error && fieldErrorsOf(error, value).map(({ path }) => path)
    }
    expect(pathsOf({ template: 't', buttons: [{ type: 1 }] })).toEqual(['/buttons/0/type'])
    expect(pathsOf({ template: 7, buttons: [{ type: 1 }] })).toEqual(['/template', '/buttons/0/type'])
    expect(pathsOf(null)).toEqual([''])
  })
})
