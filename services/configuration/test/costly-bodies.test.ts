import { describe, expect, test } from '@jest/globals'
import { longestTurn } from '@parley/local/testing/longest-turn'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

const MEMBERS = 20_000

const server = configurationForTests()

const config = (value: object) => ({ ...bodies.configs, value })
const ofMembers = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]))
const put = (body: unknown, path = 'configs/1') => server.call('PUT', `/rest/${path}`, { body })

describe('a body', () => {
  test('a body has at most 20,000 members, objects and arrays, and 110,000 items', async () => {
    // The document itself has five members of its own, one of them the value.
    expect((await put(config(ofMembers(MEMBERS - 10)))).status).toBe(200)
    for (const value of [
      ofMembers(MEMBERS),
      { list: Array.from({ length: 110_001 }, () => 1) },
      Object.fromEntries(Array.from({ length: MEMBERS / 4 }, (_, at) => [`${at}${'k'.repeat(140)}`, 1])),
      { list: Array.from({ length: MEMBERS }, () => []) },
    ]) {
      const { status, json } = await put(config(value))
      expect([status, json.code]).toEqual([422, 'too_many_members'])
    }
  })

  test('text that looks like members does not count as members', async () => {
    expect((await put(config({ text: '[{,"'.repeat(MEMBERS) }))).status).toBe(200)
  })

  test('a body with thousands of errors gets a short response with their number', async () => {
    const unknown = Object.fromEntries(
      Array.from({ length: 19_000 }, (_, at) => [`${'x'.repeat(20)}${at}`, 1]),
    )
    const one = await put({ ...bodies.jobs, ...unknown }, 'jobs/1')
    expect([one.status, one.json.code, one.text.length < 2_000]).toEqual([422, 'validation_failed', true])
    const many = await put(
      { ...bodies.assistant, actions: Array.from({ length: 20_000 }, () => 'x') },
      'assistant/1',
    )
    expect([many.status, many.json.errors.length, many.json.errorsTotal]).toEqual([422, 100, 20_000])
    expect(many.text.length).toBeLessThan(20_000)
  })

  test('an error about a key of half a megabyte contains the key cut', async () => {
    const { status, text } = await put({ ...bodies.jobs, ['k'.repeat(500_000)]: 1 }, 'jobs/1')
    expect([status, text.length < 2_000]).toEqual([422, true])
  })
})

describe('secrets', () => {
  const secrets = (count: number) => Array.from({ length: count }, (_, at) => `secret ${at}`)

  test('a document has at most 1,000 secrets, by PUT, POST and PATCH', async () => {
    expect((await put(config({ apiKey: secrets(1_000) }))).status).toBe(200)
    const body = config({ nested: [{ apiKey: secrets(500) }, { token: { deep: secrets(501) } }] })
    const responses = [
      await put(body),
      await server.call('POST', '/rest/configs', { body }),
      await server.call('PATCH', '/rest/configs/1', { body: { value: { token: 'one more' } } }),
    ]
    expect(responses.map(({ status, json }) => [status, json.errors[0].code])).toEqual(
      responses.map(() => [422, 'too_many_secrets']),
    )
  })

  test('the secrets of a document have at most 524,288 characters together', async () => {
    const long = (characters: number) => Array.from({ length: 128 }, () => 's'.repeat(characters))
    expect((await put(config({ apiKey: long(4_096) }))).status).toBe(200)
    const { status, json } = await put(config({ apiKey: long(4_097) }))
    expect([status, json.errors[0].code]).toEqual([422, 'too_many_secrets'])
  })

  test('an import has at most 10,000 secrets', async () => {
    const configs = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ _id: 100 + at, ...config({ apiKey: secrets(1_000) }) }))
    const load = (count: number) =>
      server.call('POST', '/rest/import', { body: { version: 1, resources: { configs: configs(count) } } })
    expect((await load(10)).status).toBe(200)
    const { status, json } = await load(11)
    expect([status, json.errors[0].code]).toEqual([422, 'too_many_secrets'])
  })
})

test('the costliest valid bodies do not block other callers', async () => {
  const long = Object.fromEntries(
    Array.from({ length: MEMBERS - 10 }, (_, at) => [`k${at}${'x'.repeat(20)}`, at]),
  )
  const costly = [
    config(long),
    config({
      apiKey: Array.from({ length: 1_000 }, (_, at) => `s${at}`),
      list: Array.from({ length: 105_000 }, () => 1),
    }),
  ]
  for (const body of costly) await put(body)
  const rounds: number[] = []
  for (const body of costly)
    rounds.push(await longestTurn(async () => expect((await put(body)).status).toBe(200)))
  // Some 250 ms; the rest is for what the test itself does with such a body, in the same process.
  for (const turn of rounds) expect(turn).toBeLessThan(1_000)
})
