import { expect, test } from '@jest/globals'
import { rpcLine, text } from '../rpc-line.ts'

const line = rpcLine()

test('a message that was accepted with more than 50 functions, before that was bounded, is sent whole and in order', async () => {
  const { world, endpoint } = line
  const functions = Array.from({ length: 60 }, (_, n) => ({
    args: { template: `template-${n}`, language: 'en', variables: [] },
  }))
  const before = text('', 'many')
  await world.post('many', { ...before, answer: { functions } })
  const seen = await world.message('many', 'delivered')
  expect(seen.sends.map(({ state }) => state)).toEqual(Array(60).fill('delivered'))
  expect(endpoint.calls.map(({ json }) => json.template)).toEqual(functions.map(({ args }) => args.template))
})
