import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startSimulator, template } from './running-simulator.ts'

let simulator: Awaited<ReturnType<typeof startSimulator>>

beforeAll(async () => {
  simulator = await startSimulator()
})
afterAll(() => simulator.stop())

const BODY = { type: 'BODY', text: 'Hi {{1}}!', example: { body_text: [['Ana']] } }
const draft = (name: string) => ({ name, language: 'pt_BR', category: 'MARKETING', components: [BODY] })
const listed = async (account: string, query = '') => {
  const headers = { authorization: 'Bearer token' }
  const response = await fetch(`${simulator.url}/v26.0/${account}/message_templates?${query}`, { headers })
  return (await response.json()) as {
    data: Record<string, unknown>[]
    paging: { next?: string; cursors: { after: string } }
  }
}
const sendOf = (name: string) =>
  template({
    template: {
      name,
      language: { code: 'pt_BR' },
      components: [{ type: 'body', parameters: [{ type: 'text', text: 'Ana' }] }],
    },
  })
const codeOf = async (name: string) => {
  const { status, body } = await simulator.post('/v26.0/77/messages', sendOf(name))
  return status === 200 ? 200 : (body.error as { code: number }).code
}
const setState = (state: object) => simulator.post('/simulator/template-state', state)

test('a template is made, is sent once it is approved, and not while it is paused', async () => {
  const made = await simulator.post('/v26.0/acc/message_templates', draft('spring'))
  expect(made).toMatchObject({ status: 200, body: { status: 'PENDING', category: 'MARKETING' } })
  expect(await codeOf('spring')).toBe(132001)
  await setState({ name: 'spring', status: 'APPROVED' })
  expect(await codeOf('spring')).toBe(200)
  await setState({ name: 'spring', language: 'pt_BR', status: 'PAUSED', quality: 'RED' })
  expect(await codeOf('spring')).toBe(132015)
  expect((await listed('acc', 'name=spring')).data).toMatchObject([
    { name: 'spring', status: 'PAUSED', quality_score: { score: 'RED' } },
  ])
  await setState({ name: 'spring', status: 'DISABLED' })
  expect(await codeOf('spring')).toBe(132016)
  expect((await listed('another', 'name=spring')).data).toEqual([])
})

test('a template is edited, and removed; what is wrong is refused', async () => {
  const path = '/v26.0/acc/message_templates'
  const { body } = await simulator.post(path, draft('winter'))
  expect((await simulator.post(path, draft('winter'))).body.error).toMatchObject({ error_subcode: 2388024 })
  expect((await simulator.post(path, { ...draft('x'), category: 'OTHER' })).status).toBe(400)
  const text = 'Bye'
  await simulator.post(`/v26.0/${body.id}`, { components: [{ type: 'BODY', text }] })
  expect((await listed('acc', 'name=winter')).data[0]?.components).toEqual([{ type: 'BODY', text }])
  const gone = await fetch(`${simulator.url}${path}?name=winter`, {
    method: 'DELETE',
    headers: { authorization: 'Bearer token' },
  })
  expect(gone.status).toBe(200)
  expect((await listed('acc', 'name=winter')).data).toEqual([])
})

test('they come by pages', async () => {
  const all = (await listed('acc')).data.map(({ id }) => id)
  const first = await listed('acc', 'limit=4')
  const second = await listed('acc', `limit=100&after=${first.paging.cursors.after}`)
  expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(all)
  expect([first.paging.next !== undefined, second.paging.next !== undefined]).toEqual([true, false])
})
