import { expect, test } from '@jest/globals'
import { lineOfThreads, said } from './line-of-threads.ts'

interface Note {
  _id: string
  at: string
  by: { _id: number; name: string }
  text: string
}

const line = lineOfThreads()
const call = async (method: string, path: string, body?: object) => {
  const { status, json } = await line.world.call(method, `/rest/threads/${path}`, body)
  return { status, json: json as Note & { data: Note[]; next: string | null; code?: string } }
}
const texts = async (id: string) => (await call('GET', `${id}/notes`)).json.data.map(({ text }) => text)

async function thread(extId: string): Promise<void> {
  await line.world.post(`${extId}-1`, said('one', extId))
  await line.world.message(`${extId}-1`, 'delivered')
}

test('notes are of the team: listed by pages, the latest first, and nothing of them is sent or said', async () => {
  await thread('noted')
  const before = line.endpoint.calls.length
  const { status, json } = await call('POST', 'noted/notes', { text: ' She calls back ' })
  expect(status).toBe(200)
  const { _id, name } = line.world.account
  expect(json).toMatchObject({ text: 'She calls back', by: { _id, name } })
  for (const text of ['second', 'third']) await call('POST', 'noted/notes', { text })
  const first = (await call('GET', 'noted/notes?limit=2')).json
  expect(first.data.map(({ text }) => text)).toEqual(['third', 'second'])
  const rest = (await call('GET', `noted/notes?limit=2&after=${first.next}`)).json
  expect(rest).toMatchObject({ data: [{ text: 'She calls back' }], next: null })
  expect((await line.conversation('noted')).data.map(({ text }) => text)).not.toContain('second')
  expect(line.endpoint.calls.length).toBe(before)
  expect((await line.read('noted')).lastMessage).toBe('one')
})

test('a note is deleted once, and one of another thread not at all', async () => {
  await thread('own')
  await thread('other')
  const { json } = await call('POST', 'own/notes', { text: 'mine' })
  expect(await call('DELETE', `other/notes/${json._id}`)).toMatchObject({ status: 404 })
  expect(await texts('own')).toEqual(['mine'])
  expect(await call('DELETE', `own/notes/${json._id}`)).toMatchObject({ status: 200 })
  expect(await call('DELETE', `own/notes/${json._id}`)).toMatchObject({ status: 404 })
})

test('notes go with their thread, and are bounded', async () => {
  await thread('erased')
  await call('POST', 'erased/notes', { text: 'private' })
  for (const body of [
    {},
    { text: '' },
    { text: '  ' },
    { text: 'x'.repeat(16 * 1024 + 1) },
    { text: 'a', by: 1 },
  ])
    expect(await call('POST', 'erased/notes', body)).toMatchObject({ status: 422 })
  expect(await call('POST', 'nobody/notes', { text: 'x' })).toMatchObject({ status: 404 })
  expect((await line.world.call('DELETE', '/rest/threads/erased')).status).toBe(200)
  expect(await call('GET', 'erased/notes')).toMatchObject({ status: 404 })
  await thread('erased')
  expect(await texts('erased')).toEqual([])
})
