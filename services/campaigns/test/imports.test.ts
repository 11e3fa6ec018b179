import { beforeEach, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { campaignsForTests } from './campaigns-server.ts'

const BRAZIL = [
  { schema: '{{resource}} == "people"', read: 'true', write: '{{doc.language}} == "pt_BR"' },
] as const
const MOST = 2 * 1024 * 1024
const server = campaignsForTests({ roles: { BRAZIL }, environment: { IMPORT_MAX_BYTES: String(MOST) } })
const LINE_BREAKS = { LF: '\n', CRLF: '\r\n', CR: '\r' }

let numbers = 0
const newNumber = () => `55119${String(numbers++).padStart(8, '0')}`

beforeEach(() => {
  server.others.areDown = false
  server.others.withdrawn = []
  server.others.asked.splice(0)
})

interface Given {
  type?: string
  query?: string
  key?: string
  headers?: Record<string, string>
  role?: string
}

async function send(
  body: string | Uint8Array,
  { type = 'text/csv', query = '', key, headers, role }: Given = {},
) {
  const response = await fetch(`${server.url}/rest/people/imports${query}`, {
    method: 'POST',
    headers: {
      authorization: server.authorization({ ...(role && { role }) }),
      'content-type': type,
      ...(key && { 'idempotency-key': key }),
      ...headers,
    },
    body: body as string,
  })
  return { status: response.status, json: JSON.parse(await response.text()) }
}
const ndjson = (...people: (object | string)[]) =>
  people.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n')
const errorsOf = async (id: string) => {
  const { json } = await server.call('GET', `/rest/people/imports/${id}/errors`)
  return json.data.map(
    ({ line, path, code }: { line: number; path: string; code: string }) => `${line} ${path} ${code}`,
  )
}
const read = async (number: string) => (await server.call('GET', `/rest/people/phone:${number}`)).json
const counts = (given: object) => ({
  ...{ rows: 0, created: 0, updated: 0, repeated: 0, refused: 0, staysWithdrawn: 0 },
  ...given,
})

describe('a file of people', () => {
  test.each(Object.entries(LINE_BREAKS))(
    'with %s is imported, with and without a BOM',
    async (_name, end) => {
      for (const bom of ['', '\ufeff']) {
        const [first, second] = [newNumber(), newNumber()]
        const rows = [
          'phone;Name;tags;language',
          `+${first};João "Jo" Souza;vip, new;pt-br`,
          `"${second}";"Ana; B";;`,
        ]
        const { status, json } = await send(bom + rows.join(end))
        expect([status, json.state, json.counts]).toEqual([200, 'finished', counts({ rows: 2, created: 2 })])
        expect(await read(first)).toMatchObject({
          ...{ name: 'João "Jo" Souza', tags: ['vip', 'new'], language: 'pt_BR' },
        })
        expect(await read(second)).toMatchObject({ name: 'Ana; B', tags: [] })
      }
    },
  )

  test('of JSON is imported as it is exported, and each bad line is reported', async () => {
    const number = newNumber()
    const { json: exported } = await server.call('POST', '/rest/people', {
      body: { addresses: [`phone:${number}`], name: 'Ana' },
    })
    const rows = [
      ...[exported, { addresses: [newNumber()], name: 'Eva' }, '{"addresses": ', '[]', ''],
      ...[{ name: 'nobody' }, { addresses: ['5.51E+12'] }, { addresses: [newNumber()], colour: 'red' }],
      `{"addresses":["${newNumber()}"],"attributes":${'['.repeat(5_000)}`,
    ]
    const { status, json } = await send(ndjson(...rows), { type: 'application/x-ndjson' })
    expect([status, json.counts]).toEqual([200, counts({ rows: 8, created: 1, updated: 1, refused: 6 })])
    expect(await errorsOf(json._id)).toEqual([
      ...['3  malformed_json', '4  not_an_object', '6 /addresses invalid_type', '7 /addresses/0 custom'],
      ...['8  unrecognized_keys', '9  too_deep'],
    ])
  })

  test('has the attributes of the workspace as columns', async () => {
    const attributes = [
      ...[
        { name: 'city', type: 'text' },
        { name: 'visits', type: 'number' },
      ],
      ...[
        { name: 'vip', type: 'boolean' },
        { name: 'born', type: 'date' },
      ],
    ]
    await server.call('PUT', '/rest/people/attributes', { body: { attributes } })
    const number = newNumber()
    const header = 'phone\tcity\tattributes.visits\tVIP\tborn\n'
    const { json } = await send(
      `${header}${number}\tSão\u00a0Paulo\t3\tTRUE\t2001-02-28\n${newNumber()}\tSantos\tmany\tyes\t30/02/2001\n`,
    )
    expect(json.counts).toEqual(counts({ rows: 2, created: 1, refused: 1 }))
    expect((await read(number)).attributes).toEqual({
      ...{ city: 'São\u00a0Paulo', visits: 3, vip: true, born: '2001-02-28' },
    })
    expect(await errorsOf(json._id)).toEqual(
      ['visits', 'vip', 'born'].map((name) => `3 /attributes.${name} invalid_attribute`),
    )
  })

  test('with the same number again and again makes one person, counted', async () => {
    const number = newNumber()
    const rows = Array.from({ length: 20_000 }, (_, at) => `+${number},Ana ${at % 7}`)
    const { json } = await send(`phone,name\n${rows.join('\n')}`)
    expect(json.counts).toEqual(counts({ rows: 20_000, created: 1, repeated: 19_999 }))
    expect(await server.database.collection('people').countDocuments({ addresses: `phone:${number}` })).toBe(
      1,
    )
  })

  test('loses no row where quotation marks are not closed, and no row after it', async () => {
    const [first, second, third] = [newNumber(), newNumber(), newNumber()]
    const rows = [
      `${first},Ana`,
      `${newNumber()},"Eva`,
      `${second},Bia`,
      `${newNumber()},"Lia`,
      `${third},Mia`,
    ]
    const { json } = await send(`phone,name\n${rows.join('\n')}`)
    expect(json).toMatchObject({ state: 'finished', counts: { rows: 5, created: 3, refused: 2 } })
    expect(await errorsOf(json._id)).toEqual(['3  quote_open', '5  quote_open'])
    for (const number of [first, second, third]) expect((await read(number)).addresses).toHaveLength(1)
  })

  test('passes over a row that is too long, without reading it into memory', async () => {
    for (const type of ['text/csv', 'application/x-ndjson']) {
      const isCsv = type === 'text/csv'
      const row = (number: string, name: string) =>
        isCsv ? `${number},${name}` : JSON.stringify({ addresses: [number], name })
      const numbers = [newNumber(), newNumber(), newNumber()]
      const names = ['Ana', 'x'.repeat(1_000_000), 'Bia']
      const rows = numbers.map((number, at) => row(number, names[at] ?? ''))
      const { json } = await send([...(isCsv ? ['phone,name'] : []), ...rows].join('\n'), { type })
      expect(json).toMatchObject({ state: 'finished', counts: { rows: 3, created: 2, refused: 1 } })
      expect(await errorsOf(json._id)).toEqual([isCsv ? '3  row_too_long' : '2  row_too_long'])
    }
  })

  test('ends where too many rows are unreadable', async () => {
    const rows = Array.from({ length: 3_000 }, () => `${newNumber()},"Ana`)
    const { status, json } = await send(`phone,name\n${rows.join('\n')}`)
    expect([status, json.errors[0].code]).toEqual([422, 'unreadable'])
    expect((await server.call('GET', `/rest/people/imports/${json.import}`)).json.state).toBe('failed')
  })

  test.each([
    ['nothing', '', ['', 'empty']],
    ['UTF-16', Buffer.from('\ufeffphone\n5511988887777', 'utf16le'), ['', 'not_utf8']],
    ['UTF-16 without a BOM', Buffer.from('phone,name\n5511988887777', 'utf16le'), ['', 'not_utf8']],
    ['a workbook', Buffer.from('PK\u0003\u0004xl'), ['', 'not_text']],
    ['a header of Latin-1', Buffer.from('phone,Nação\n', 'latin1'), ['/line/1', 'not_utf8']],
    ['rows of Latin-1', Buffer.from('phone,name\n5511988887777,João\n', 'latin1'), ['/line/2', 'not_utf8']],
    ['an unknown column', 'phone,E-mail\n', ['/columns/1', 'unknown_column']],
    ['a column twice', 'phone,name,Name\n', ['/columns/2', 'repeated']],
    ['no address', 'name\nAna', ['/columns', 'no_address']],
    ['a header without an end', `phone,${'x'.repeat(200_000)}`, ['/line/1', 'row_too_long']],
  ])('with %s is refused', async (_name, body, [path, code]) => {
    const { status, json } = await send(body)
    expect([status, json.errors[0]]).toMatchObject([422, { path, code }])
  })

  test('with columns that nobody knows is imported where they are to be ignored', async () => {
    const { json } = await send(`phone,E-mail\n${newNumber()},ana@example.com\n`, {
      query: '?ignoreColumns=true',
    })
    expect(json).toMatchObject({ columns: ['phone', ''], counts: { created: 1 } })
  })

  test.each([
    ['another type', { type: 'application/json' }],
    ['another charset', { type: 'text/csv; charset=iso-8859-1' }],
    ['a compressed body', { headers: { 'content-encoding': 'gzip' } }],
  ])('of %s is refused', async (_name, given) => {
    expect(await send('phone\n', given)).toMatchObject({
      status: 415,
      json: { code: 'unsupported_media_type' },
    })
  })

  test('is refused at its bound while it is read, and what came before that is settled', async () => {
    const rows = `${newNumber()},Ana\n`.repeat(4_000)
    async function* endless() {
      yield Buffer.from('phone,name\n')
      for (;;) yield Buffer.from(rows)
    }
    const response = await fetch(`${server.url}/rest/people/imports`, {
      ...{ method: 'POST', duplex: 'half', body: ReadableStream.from(endless()) },
      headers: {
        authorization: server.authorization(),
        ...{ 'content-type': 'text/csv', 'idempotency-key': 'endless' },
      },
    } as RequestInit).catch((error: unknown) => error)
    // Whoever goes on sending may not get to read it.
    if (response instanceof Response) expect(response.status).toBe(413)
    const { json } = await server.call('GET', '/rest/people/imports')
    const found = json.data.find(({ key }: { key: string }) => key === 'endless')
    expect(found).toMatchObject({ state: 'failed', failure: { code: 'body_too_large' } })
    expect(found.counts.rows).toBeGreaterThan(4_000)
    expect((await send('phone\n', { query: `?offset=${MOST}` })).status).toBe(413)
  })

  test('of whom the role may not write is refused row by row', async () => {
    const [number, other] = [newNumber(), newNumber()]
    const body = `phone,language\n${number},pt_BR\n${other},es\n`
    const { json } = await send(body, { role: 'BRAZIL' })
    expect(json.counts).toEqual(counts({ rows: 2, created: 1, refused: 1 }))
    expect(await errorsOf(json._id)).toEqual(['3  forbidden'])
    expect((await server.call('GET', `/rest/people/phone:${other}`)).status).toBe(404)
  })
})

describe('consent in a file', () => {
  test('is shown with its history, and withdrawn where sends are first', async () => {
    const [first, second] = [newNumber(), newNumber()]
    const header = 'phone,consent,consent.service,consentText\n'
    const { json } = await send(
      `${header}${first},granted,,shop\n${second},Withdrawn,granted,\n${newNumber()},yes,,\n`,
    )
    expect(json.counts).toEqual(counts({ rows: 3, created: 2, refused: 1 }))
    expect((await read(first)).consent).toMatchObject({
      marketing: { status: 'granted', source: 'import', text: 'shop' },
    })
    const { json: history } = await server.call('GET', `/rest/people/phone:${second}/consent`)
    expect(
      history.data.map(({ purpose, status }: Record<string, string>) => `${purpose} ${status}`).sort(),
    ).toEqual([...['marketing withdrawn', 'service granted']])
    const stored = server.others.asked.filter(({ path }) => path.endsWith('/suppressions'))
    expect(stored).toMatchObject([
      { body: { changes: [{ addresses: [`phone:${second}`], status: 'withdrawn', source: 'import' }] } },
    ])
  })

  test('stays in the history whatever is said afterwards, in a file, by the API or of somebody who is joined', async () => {
    const [first, second] = [newNumber(), newNumber()]
    await send(`phone,consent\n${first},granted\n${first},withdrawn\n${second},granted\n`)
    await server.call('PATCH', `/rest/people/phone:${first}`, {
      body: { consent: { marketing: { status: 'granted' } } },
    })
    await server.call('POST', '/rest/people', { body: { addresses: [first, second] } })
    await send(`phone,consent\n${second},withdrawn\n`)
    const listed: string[] = []
    for (let next: string | null = ''; next !== null; ) {
      const after: string = next === '' ? '' : `&after=${next}`
      const { json } = await server.call('GET', `/rest/people/phone:${first}/consent?limit=1${after}`)
      listed.push(...json.data.map(({ status, source }: Record<string, string>) => `${source} ${status}`))
      next = json.next
    }
    expect(listed.slice(0, 2)).toEqual(['import withdrawn', 'api granted'])
    // The rows of one file may be read in the same millisecond.
    expect(listed.slice(2).sort()).toEqual([...['import granted', 'import granted', 'import withdrawn']])
  })

  test('does not grant what was withdrawn, here or where sends are', async () => {
    const [here, there] = [newNumber(), newNumber()]
    await server.call('POST', '/rest/people', { body: { addresses: [here] } })
    await server.call('PATCH', `/rest/people/phone:${here}`, {
      body: { consent: { marketing: { status: 'withdrawn' } } },
    })
    server.others.withdrawn = [{ address: `phone:${there}`, purpose: 'marketing' }]
    const { json } = await send(`phone,name,consent\n${here},Ana,granted\n${there},Eva,granted\n`)
    expect(json.counts).toEqual(counts({ rows: 2, created: 1, updated: 1, staysWithdrawn: 2 }))
    expect(await errorsOf(json._id)).toEqual(['2 /consent stays_withdrawn', '3 /consent stays_withdrawn'])
    expect(await read(here)).toMatchObject({ name: 'Ana', consent: { marketing: { status: 'withdrawn' } } })
    expect(await read(there)).toMatchObject({ name: 'Eva', consent: { marketing: { status: 'unknown' } } })
  })

  test('is not shown while it can’t be stored where sends are, and is after the same request again', async () => {
    const number = newNumber()
    const body = `phone,consent\n${number},withdrawn\n`
    server.others.areDown = true
    expect((await send(body, { key: 'later' })).status).toBe(503)
    expect((await server.call('GET', `/rest/people/phone:${number}`)).status).toBe(404)
    server.others.areDown = false
    const { json } = await send(body, { key: 'later' })
    expect(json).toMatchObject({ state: 'finished', counts: { rows: 1, created: 1 } })
  })
})

describe('an import', () => {
  const rowsOf = (count: number) => Array.from({ length: count }, () => `${newNumber()},Ana\n`)

  test('goes on where a request broke off, and counts each row once', async () => {
    const file = `phone,name\n${rowsOf(20_000).join('')}`
    const key = 'broken'
    const aborting = new AbortController()
    const broken = fetch(`${server.url}/rest/people/imports`, {
      ...{ method: 'POST', signal: aborting.signal, duplex: 'half' },
      headers: { authorization: server.authorization(), 'content-type': 'text/csv', 'idempotency-key': key },
      body: new ReadableStream({
        start: (controller) => controller.enqueue(Buffer.from(file.slice(0, 300_000))),
      }),
    } as RequestInit).catch(() => undefined)
    const find = async () => {
      const { json } = await server.call('GET', '/rest/people/imports')
      return json.data.find((one: { key: string }) => one.key === key)
    }
    await eventually(async () => ((await find())?.counts.rows ?? 0) > 5_000)
    expect((await send(file, { key })).json.code).toBe('idempotency_in_flight')
    aborting.abort()
    await broken
    const { counts: before } = await eventually(async () => {
      const found = await find()
      return found.state === 'open' ? found : undefined
    })
    expect(before.rows).toBeLessThan(20_000)
    const { json } = await send(file, { key })
    expect(json).toMatchObject({ state: 'finished', offset: file.length })
    expect(json.counts).toEqual(counts({ rows: 20_000, created: 20_000 }))
    expect((await send(file, { key })).json).toEqual(json)
    expect((await send('phone\n', { key: 'broken', type: 'application/x-ndjson' })).json.code).toBe(
      'idempotency_key_reused',
    )
  })

  test('goes on after its process died', async () => {
    const [first, second] = [rowsOf(3).join(''), rowsOf(4).join('')]
    const { json: begun } = await send(`phone,name\n${first}`, { key: 'died', query: '?more=true' })
    const busy = { state: 'running', owner: 'nobody', busyUntil: new Date(Date.now() - 1) }
    const imports = server.database.collection<{ _id: string }>('imports')
    await imports.updateOne({ _id: begun._id }, { $set: busy })
    expect((await server.call('GET', `/rest/people/imports/${begun._id}`)).json.state).toBe('open')
    const { json } = await send(`phone,name\n${first}${second}`, { key: 'died' })
    expect(json).toMatchObject({ state: 'finished', counts: counts({ rows: 7, created: 7 }) })
  })

  test('takes a file in parts, wherever they are cut', async () => {
    const number = newNumber()
    const file = Buffer.from(`phone,name\n${number},"João ""Jo"""\n${newNumber()},Ação\n${newNumber()},Ana`)
    for (let cut = 12; cut < file.length; cut += 7) {
      const key = `parts-${cut}`
      const { json: first } = await send(file.subarray(0, cut), { key, query: '?more=true' })
      expect([first.state, first.offset <= cut]).toEqual(['open', true])
      const late = await send(file.subarray(cut), { key, query: `?offset=${cut}` })
      if (first.offset < cut)
        expect(late.json).toMatchObject({ code: 'validation_failed', offset: first.offset })
      const { json } =
        first.offset < cut
          ? await send(file.subarray(first.offset), { key, query: `?offset=${first.offset}` })
          : late
      expect(json).toMatchObject({ state: 'finished', counts: { rows: 3 }, offset: file.length })
    }
    expect(await read(number)).toMatchObject({ name: 'João "Jo"' })
  })

  test('waits for its turn where others of its workspace are read, and is refused where too many wait', async () => {
    const aborting = new AbortController()
    const endless = (key: string) =>
      fetch(`${server.url}/rest/people/imports`, {
        ...{ method: 'POST', signal: aborting.signal, duplex: 'half' },
        headers: {
          authorization: server.authorization(),
          'content-type': 'text/csv',
          'idempotency-key': key,
        },
        body: new ReadableStream({
          start: (controller) => controller.enqueue(Buffer.from(`phone\n${rowsOf(20_000).join('')}`)),
        }),
      } as RequestInit).catch(() => undefined)
    const reading = [endless('first'), endless('second')]
    const isRead = async () => {
      const { json } = await server.call('GET', '/rest/people/imports')
      return json.data.filter(({ key }: { key: string }) => ['first', 'second'].includes(key)).length === 2
    }
    await eventually(isRead)
    const waiting = Array.from({ length: 20 }, () => send(`phone\n${newNumber()}\n`))
    const refused = (await Promise.race(waiting)) as Awaited<ReturnType<typeof send>>
    expect(refused).toMatchObject({ status: 429, json: { code: 'rate_limited' } })
    const other = fetch(`${server.url}/rest/people/imports`, {
      ...{ method: 'POST', body: `phone\n${newNumber()}\n` },
      headers: { authorization: server.authorization({ workspace: 3 }), 'content-type': 'text/csv' },
    })
    expect((await other).status).toBe(200)
    aborting.abort()
    await Promise.all(reading)
    const statuses = (await Promise.all(waiting)).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([...Array(16).fill(200), ...Array(4).fill(429)])
  })

  test('does not go on with another file', async () => {
    await send('phone,name\n', { key: 'same', query: '?more=true' })
    expect((await send('phone,tags\n', { key: 'same' })).json.code).toBe('idempotency_key_reused')
    expect((await send('phone,name\n', { key: 'same', query: '?tag=new' })).json.code).toBe(
      'idempotency_key_reused',
    )
  })

  test('is cancelled while it runs, and stays so', async () => {
    const { json: begun } = await send(`phone\n${newNumber()}\n`, { key: 'no', query: '?more=true&tag=some' })
    const { json } = await server.call('DELETE', `/rest/people/imports/${begun._id}`)
    expect(json).toMatchObject({ state: 'cancelled', counts: { rows: 1 } })
    expect((await server.call('DELETE', `/rest/people/imports/${begun._id}`)).json).toEqual(json)
    const again = await send(`phone\n${newNumber()}\n`, { key: 'no', query: '?tag=some' })
    expect(again.json.code).toBe('idempotency_key_reused')
  })

  test('gives its people tags, and is its workspace’s own', async () => {
    const number = newNumber()
    const { json } = await send(`phone\n${number}\n`, { query: '?tag=november,%20shop' })
    expect((await read(number)).tags).toEqual(['november', 'shop'])
    const path = `/rest/people/imports/${json._id}`
    for (const at of [path, `${path}/errors`])
      expect((await server.call('GET', at, { workspace: 2 })).status).toBe(404)
    expect((await server.call('DELETE', path, { workspace: 2 })).status).toBe(404)
    expect((await server.call('GET', '/rest/people/imports', { workspace: 2 })).json.data).toEqual([])
    expect((await server.call('GET', '/rest/people/imports/x')).json.code).toBe('invalid_id')
  })

  test('stores a bounded number of errors and counts the others', async () => {
    const { json } = await send(`phone\n${'x\n'.repeat(3_000)}`)
    expect(json.counts).toEqual(counts({ rows: 3_000, refused: 3_000 }))
    const stored = await server.database.collection('importErrors').countDocuments({
      _id: { $gte: `${json._id}/`, $lt: `${json._id}0` },
    } as object)
    expect(stored).toBe(1_000)
    const path = `/rest/people/imports/${json._id}/errors?limit=200`
    const { json: page } = await server.call('GET', path)
    const { json: next } = await server.call('GET', `${path}&after=${page.next}`)
    expect([page.data.at(-1).line, next.data[0].line]).toEqual([201, 202])
  })
})

test('an address that PUT or POST adds to somebody who has opted out is suppressed before they have it', async () => {
  for (const method of ['PUT', 'POST']) {
    const [address, added] = [newNumber(), newNumber()].map((number) => `phone:${number}`)
    await server.call('PUT', `/rest/people/${address}`, { body: {} })
    await server.call('PATCH', `/rest/people/${address}`, {
      body: { consent: { marketing: { status: 'withdrawn' } } },
    })
    server.others.asked.splice(0)
    const path = method === 'PUT' ? `/rest/people/${address}` : '/rest/people'
    const write = () => server.call(method, path, { body: { addresses: [address, added] } })
    server.others.areDown = true
    expect((await write()).status).toBe(503)
    expect((await server.call('GET', `/rest/people/${added}`)).status).toBe(404)
    server.others.areDown = false
    server.others.asked.splice(0)
    expect((await write()).status).toBe(200)
    expect(server.others.asked).toMatchObject([
      {
        path: '/internal/workspaces/1/suppressions',
        body: { changes: [{ addresses: [address, added], purpose: 'marketing', status: 'withdrawn' }] },
      },
    ])
  }
})
