import { describe, expect, test } from '@jest/globals'
import { campaignsForTests } from './campaigns-server.ts'

const MANAGERS = [
  { schema: '{{resource}} == "people"', read: 'true', write: '{{doc.language}} == "pt_BR"' },
] as const
const server = campaignsForTests({ roles: { BRAZIL: MANAGERS } })

let numbers = 0
const newNumber = () => `phone:55119${String(numbers++).padStart(8, '0')}`
const add = async (body: object, options = {}) => {
  const { status, json } = await server.call('POST', '/rest/people', { body, ...options })
  expect(status).toBe(200)
  return json
}
const errorsOf = async (body: object) => {
  const { status, json } = await server.call('POST', '/rest/people', { body })
  return [
    status,
    json.code,
    json.errors?.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`),
  ]
}

describe('a person', () => {
  test('is added, read by id and by address, changed, replaced and deleted', async () => {
    const number = newNumber()
    const made = await add({
      addresses: [number],
      name: 'João',
      language: 'pt-br',
      timeZone: 'america/sao_paulo',
    })
    expect(made).toEqual({
      _id: expect.any(String),
      addresses: [number],
      ...{ name: 'João', language: 'pt_BR', timeZone: 'America/Sao_Paulo', attributes: {}, tags: [] },
      consent: { marketing: { status: 'unknown' }, service: { status: 'unknown' } },
      ...{ createdAt: expect.any(String), updatedAt: expect.any(String) },
    })
    expect((await server.call('GET', `/rest/people/${made._id}`)).json).toEqual(made)
    expect((await server.call('GET', `/rest/people/${number}`)).json).toEqual(made)
    const patch = await server.call('PATCH', `/rest/people/${number}`, {
      body: { name: null, tags: ['vip', 'vip'] },
    })
    expect(patch.json).toMatchObject({ _id: made._id, language: 'pt_BR', tags: ['vip'] })
    expect(patch.json.name).toBeUndefined()
    const put = await server.call('PUT', `/rest/people/${made._id}`, {
      body: { ...patch.json, name: 'João' },
    })
    expect(put.json).toEqual({ ...patch.json, name: 'João', updatedAt: expect.any(String) })
    const deleted = await server.call('DELETE', `/rest/people/${made._id}`)
    expect(deleted.json).toEqual({ _id: made._id, deleted: true })
    expect((await server.call('GET', `/rest/people/${number}`)).status).toBe(404)
  })

  test('is added by PUT under an address, but not under an id that nobody has', async () => {
    const number = newNumber()
    const put = await server.call('PUT', `/rest/people/${encodeURIComponent(number)}`, {
      body: { name: 'Ana' },
    })
    expect(put.json).toMatchObject({ addresses: [number], name: 'Ana' })
    const path = '/rest/people/0198c0de-0000-7000-8000-000000000001'
    const nobody = await server.call('PUT', path, { body: { addresses: [newNumber()] } })
    expect([nobody.status, nobody.json.code]).toEqual([404, 'not_found'])
    const other = await server.call('GET', '/rest/people/4711x')
    expect([other.status, other.json.code]).toEqual([400, 'invalid_id'])
  })

  test('has one record, however the number is written', async () => {
    const first = await add({ addresses: ['+55 (21) 98888-0001'], name: 'Ana' })
    const second = await add({ addresses: ['tel:5521988880001', 'whatsapp:BR.4711'], tags: ['vip'] })
    expect(second).toMatchObject({ _id: first._id, name: 'Ana', tags: ['vip'] })
    expect(second.addresses).toEqual(['phone:5521988880001', 'whatsapp:BR.4711'])
  })

  test('is joined of two when an address of each is theirs, and found by either id', async () => {
    const first = await add({ addresses: [newNumber()], name: 'Ana', tags: ['a'] })
    const second = await add({ addresses: ['whatsapp:BR.join'], language: 'es', tags: ['b'] })
    const joined = await add({ addresses: [first.addresses[0], 'whatsapp:BR.join'] })
    expect(joined).toMatchObject({ _id: first._id, name: 'Ana', language: 'es', tags: ['a', 'b'] })
    expect((await server.call('GET', `/rest/people/${second._id}`)).json).toEqual(joined)
    const { json } = await server.call('GET', '/rest/people?q=Ana')
    expect(
      json.data.filter(({ _id }: { _id: string }) => [first._id, second._id].includes(_id)),
    ).toHaveLength(1)
  })

  test('is not given the address of another by a change', async () => {
    const [first, second] = [await add({ addresses: [newNumber()] }), await add({ addresses: [newNumber()] })]
    for (const method of ['PUT', 'PATCH']) {
      const body = { addresses: [...first.addresses, ...second.addresses] }
      const { status, json } = await server.call(method, `/rest/people/${first._id}`, { body })
      expect([status, json.code]).toEqual([409, 'address_taken'])
    }
    const body = { addresses: first.addresses }
    const { json } = await server.call('PUT', `/rest/people/${newNumber()}`, { body })
    expect(json.code).toBe('address_taken')
  })

  test('is one where twenty add them at once', async () => {
    const addresses = [newNumber()]
    const all = await Promise.all(Array.from({ length: 20 }, (_, at) => add({ addresses, tags: [`t${at}`] })))
    expect(new Set(all.map(({ _id }) => _id)).size).toBe(1)
    const { json } = await server.call('GET', `/rest/people/${addresses[0]}`)
    expect(json.tags).toHaveLength(20)
  })

  test('is not overwritten by who saw an earlier version', async () => {
    const { _id } = await add({ addresses: [newNumber()] })
    const { headers } = await server.call('GET', `/rest/people/${_id}`)
    const send = () =>
      server.call('PATCH', `/rest/people/${_id}`, {
        body: { name: 'Ana' },
        headers: { 'if-match': headers.get('etag') ?? '' },
      })
    expect((await send()).status).toBe(200)
    expect((await send()).status).toBe(412)
  })

  test('is refused with what is wrong', async () => {
    expect(await errorsOf({ addresses: [] })).toEqual([422, 'validation_failed', ['/addresses too_small']])
    expect(await errorsOf({ addresses: ['5.51199E+12'] })).toEqual([
      422,
      'validation_failed',
      ['/addresses/0 custom'],
    ])
    const body = { addresses: [newNumber()], language: 'Portuguese', timeZone: 'Mars/Base', tags: ['a,b'] }
    expect(await errorsOf(body)).toEqual([
      422,
      'validation_failed',
      ['/language custom', '/timeZone custom', '/tags/0 custom'],
    ])
    expect(await errorsOf({ addresses: [newNumber()], colour: 1 })).toEqual([
      422,
      'validation_failed',
      [' unrecognized_keys'],
    ])
    const consent = { marketing: { status: 'granted' }, service: { status: 'unknown' } }
    expect(await errorsOf({ addresses: [newNumber()], consent })).toEqual([
      422,
      'validation_failed',
      ['/consent read_only'],
    ])
    const many = Array.from({ length: 32 }, (_, at) => `telegram:${at}`)
    await add({ addresses: many })
    expect(await errorsOf({ addresses: ['telegram:0', newNumber()] })).toEqual([
      422,
      'validation_failed',
      ['/addresses too_many'],
    ])
  })
})

describe('attributes', () => {
  test('are declared, checked by their types, and taken from everybody when they go', async () => {
    const attributes = [
      { name: 'city', type: 'text' },
      { name: 'visits', type: 'number' },
      { name: 'vip', type: 'boolean' },
      { name: 'born', type: 'date' },
    ]
    const declared = await server.call('PUT', '/rest/people/attributes', { body: { attributes } })
    expect([declared.status, declared.json]).toEqual([200, { attributes }])
    const values = { city: 'Santos', visits: 3.5, vip: true, born: '1990-02-28' }
    const { _id } = await add({ addresses: [newNumber()], attributes: values })
    const wrong = { city: 1, visits: '3', vip: 'yes', born: '1990-02-30', ['__proto__']: 1, size: 2 }
    const refused = await errorsOf({ addresses: [newNumber()], attributes: wrong })
    expect(refused[2]).toHaveLength(6)
    const changed = await server.call('PATCH', `/rest/people/${_id}`, {
      body: { attributes: { city: null, visits: 4 } },
    })
    expect(changed.json.attributes).toEqual({ visits: 4, vip: true, born: '1990-02-28' })
    const type = [{ name: 'visits', type: 'text' }]
    const retyped = await server.call('PUT', '/rest/people/attributes', { body: { attributes: type } })
    expect([retyped.status, retyped.json.errors[0].code]).toEqual([422, 'type_changed'])
    const fewer = attributes.slice(2)
    await server.call('PUT', '/rest/people/attributes', { body: { attributes: fewer } })
    expect((await server.call('GET', '/rest/people/attributes')).json).toEqual({ attributes: fewer })
    const { json } = await server.call('GET', `/rest/people/${_id}`)
    expect(json.attributes).toEqual({ vip: true, born: '1990-02-28' })
    const again = [...fewer, { name: 'visits', type: 'text' }]
    const { status } = await server.call('PUT', '/rest/people/attributes', { body: { attributes: again } })
    expect(status).toBe(200)
  })

  test('are each workspace’s own', async () => {
    const { json } = await server.call('GET', '/rest/people/attributes', { workspace: 2 })
    expect(json).toEqual({ attributes: [] })
  })
})

describe('the list', () => {
  const workspace = 3

  test('goes from the newest to the oldest in pages, and finds by tag, name and number', async () => {
    const names = ['Ávila', 'Bruno', 'Ana Maria']
    for (const [at, name] of names.entries())
      await add({ addresses: [`phone:4917012345${at}`], name, tags: at > 0 ? ['late'] : [] }, { workspace })
    const list = async (query: string) => {
      const { status, json } = await server.call('GET', `/rest/people?${query}`, { workspace })
      expect(status).toBe(200)
      return { names: json.data.map(({ name }: { name: string }) => name), next: json.next }
    }
    const first = await list('limit=2')
    expect(first.names).toEqual(['Ana Maria', 'Bruno'])
    expect(await list(`limit=2&after=${first.next}`)).toEqual({ names: ['Ávila'], next: null })
    expect((await list('tag=late')).names).toEqual(['Ana Maria', 'Bruno'])
    expect((await list('tag=late&marketing=unknown')).names).toEqual(['Ana Maria', 'Bruno'])
    expect((await list('marketing=granted')).names).toEqual([])
    expect((await list('q=avi')).names).toEqual(['Ávila'])
    expect((await list('q=A')).names).toEqual(['Ana Maria', 'Ávila'])
    expect((await list(`q=${encodeURIComponent('+49 170 1234')}&tag=late`)).names).toEqual([
      'Ana Maria',
      'Bruno',
    ])
    const page = await list('q=A&limit=1')
    expect((await list(`q=A&limit=1&after=${page.next}`)).names).toEqual(['Ávila'])
  })

  test('has nobody of another workspace, who can’t be read by id or address either', async () => {
    const { _id, addresses } = await add({ addresses: [newNumber()] }, { workspace: 4 })
    for (const name of [_id, addresses[0]])
      for (const method of ['GET', 'DELETE'])
        expect((await server.call(method, `/rest/people/${name}`, { workspace: 5 })).status).toBe(404)
    const own = await add({ addresses }, { workspace: 5 })
    expect(own._id).not.toBe(_id)
    expect((await server.call('GET', '/rest/people', { workspace: 4 })).json.data).toHaveLength(1)
  })
})

test('a role that may write some people writes no others, nor makes them so, nor joins them', async () => {
  const mine = await add({ addresses: [newNumber()], language: 'pt_BR' })
  const theirs = await add({ addresses: [newNumber()], language: 'de' })
  const call = async (method: string, path: string, body?: object) =>
    (await server.call(method, path, { ...(body && { body }), role: 'BRAZIL' })).status
  expect(await call('PATCH', `/rest/people/${mine._id}`, { name: 'Ana' })).toBe(200)
  expect(await call('PATCH', `/rest/people/${mine._id}`, { language: 'de' })).toBe(403)
  expect(await call('PATCH', `/rest/people/${theirs._id}`, { language: 'pt_BR' })).toBe(403)
  expect(await call('DELETE', `/rest/people/${theirs._id}`)).toBe(403)
  const both = { addresses: [...mine.addresses, ...theirs.addresses] }
  expect(await call('POST', '/rest/people', both)).toBe(403)
  expect(await call('POST', '/rest/people', { addresses: [newNumber()], language: 'de' })).toBe(403)
  expect(await call('PUT', '/rest/people/attributes', { attributes: [] })).toBe(403)
})
