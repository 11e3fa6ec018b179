import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { succeeded } from '@parley/client/parley-error'
import { eventually } from '@parley/local/testing/service-under-test'
import { type CliWorld, type Somebody, signedIn, startCliWorld } from './cli-world.ts'

const START_MS = 180_000
/** It starts some fifteen processes one after another. */
const RUN_MS = 600_000
const SERVICES = ['identity', 'configuration', 'webhook', 'dispatcher', 'campaigns', 'gateway'] as const
const PERSON = { addresses: ['phone:5511988887777'], name: 'João', tags: ['vip'] }

let world: CliWorld
let ana: Somebody
beforeAll(async () => {
  world = await startCliWorld({ services: [...SERVICES] })
  ana = await signedIn(world)
}, START_MS)
afterAll(async () => {
  ana.remove()
  await world.close()
}, START_MS)

const fileOf = (name: string, body: unknown): string => {
  const file = join(ana.folder, name)
  writeFileSync(file, JSON.stringify(body))
  return file
}
/** The one value that a command writes. */
async function one(args: string[], input?: string): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await ana.run([...args, '--json'], input === undefined ? {} : { input })
  if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`)
  return JSON.parse(stdout)
}

describe('parley people', () => {
  test('adds, lists, shows and changes somebody, whose consent has its history', async () => {
    const { _id } = await one(['people', 'apply', '-'], JSON.stringify(PERSON))
    expect(await one(['people', 'show', PERSON.addresses[0] ?? ''])).toMatchObject({ _id, name: 'João' })
    const { stdout } = await ana.run(['people', 'list', '--tag', 'vip'])
    expect(stdout).toBe(`${_id}  unknown    João  phone:5511988887777\n`)
    const shown = await one(['people', 'show', String(_id)])
    const file = fileOf('joao.json', { ...shown, consent: { marketing: { status: 'granted' } }, name: 'J.' })
    expect(await one(['people', 'apply', file, String(_id)])).toMatchObject({ name: 'J.' })
    expect(await one(['people', 'consent', String(_id)])).toMatchObject({
      data: [{ status: 'granted', by: { username: 'ana@example.com' } }],
    })
    expect((await ana.run(['people', 'export', String(_id)])).stdout).toContain('5511988887777')
  })

  test('imports a file in parts, lists what was refused, and counts no row twice', async () => {
    const rows = Array.from(
      { length: 30_000 },
      (_, at) => `55119${String(at).padStart(8, '0')},Person number ${at}`,
    )
    const file = join(ana.folder, 'people.csv')
    writeFileSync(file, `phone,name\nnobody,Nobody\n${rows.join('\n')}\n`)
    const { code, stdout } = await ana.run(['people', 'import', file, '--tag', 'spring'])
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(
        /^line 2 {2}\/addresses\/0 {2}.+\nfinished: 30001 rows, 30000 added, 0 changed, 0 repeated, 1 refused.\n$/,
      ),
    ])
    const again = await ana.run(['people', 'import', file, '--tag', 'spring', '--json'])
    expect([again.code, JSON.parse(again.stdout)]).toMatchObject([
      1,
      { state: 'finished', counts: { rows: 30_001, created: 30_000 }, errors: [{ line: 2 }] },
    ])
    const lines = join(ana.folder, 'people.ndjson')
    writeFileSync(lines, `${JSON.stringify({ addresses: ['telegram:import'] })}\n`)
    expect((await ana.run(['people', 'import', lines])).stdout).toContain('1 rows, 1 added')
    const missing = await ana.run(['people', 'import', join(ana.folder, 'nothing.csv')])
    expect([missing.code, missing.stderr]).toEqual([5, expect.stringContaining('ENOENT')])
    const wrong = join(ana.folder, 'wrong.csv')
    writeFileSync(wrong, 'phone,shoe\n5511900000000,42\n')
    expect((await ana.run(['people', 'import', wrong])).code).toBe(6)
    expect((await ana.run(['people', 'import', wrong, '--ignore-columns', '--key', 'other'])).code).toBe(0)
  })

  test('erases somebody once that was confirmed', async () => {
    const { _id } = await one(['people', 'apply', fileOf('eva.json', { addresses: ['telegram:1'] })])
    const asked = await ana.run(['people', 'delete', String(_id)])
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('add --yes')])
    const declined = await ana.atTerminal(['people', 'delete', String(_id)], [['[y/N]', 'n']])
    expect(declined.screen).toContain('Nothing was done.')
    expect((await ana.run(['people', 'delete', String(_id), '--yes'])).stdout).toBe(`Deleted ${_id}.\n`)
    expect((await ana.run(['people', 'show', String(_id)])).code).toBe(5)
  })
})

test('parley segments saves one, counts it and says what happened to it', async () => {
  const segment = { name: 'VIPs', filter: { all: [{ tag: 'vip' }] } }
  await one(['segments', 'apply', fileOf('vips.json', segment), 'vips'])
  const shown = await one(['segments', 'show', 'vips'])
  expect(shown).toMatchObject({ ...segment, count: expect.any(Number) })
  // The output of `show` can be sent back.
  await one(['segments', 'apply', fileOf('again.json', { ...shown, name: 'Best' }), 'vips'])
  expect((await ana.run(['segments', 'list'])).stdout).toBe(`${'vips'.padEnd(20)}  Best\n`)
  expect(await one(['segments', 'history', 'vips'])).toMatchObject({
    data: [{ operation: 'updated' }, { operation: 'created' }],
  })
  await one(['segments', 'delete', 'vips', '--yes'])
  expect((await ana.run(['segments', 'show', 'vips'])).code).toBe(5)
  expect((await ana.run(['segments', 'apply', fileOf('vips.json', segment)])).code).toBe(2)
})

test('parley templates synchronises, lists, makes and deletes them', async () => {
  expect((await ana.run(['templates', 'sync'])).stdout).toMatch(/^2002 {2}synchronised /)
  expect((await ana.run(['templates', 'list', '--name', 'invoice'])).stdout).toContain('invoice\n')
  const body = { type: 'BODY', text: 'Hi {{1}}, bye.', example: { body_text: [['Ana']] } }
  const draft = { channel: 1, name: 'spring', language: 'pt_BR', category: 'UTILITY', components: [body] }
  const { _id } = await one(['templates', 'apply', fileOf('spring.json', draft)])
  expect(await one(['templates', 'history', String(_id)])).toMatchObject({
    data: [{ operation: 'created', by: { username: 'ana@example.com' } }],
  })
  await one(['templates', 'delete', String(_id), '--yes'])
  expect((await ana.run(['templates', 'show', String(_id)])).code).toBe(5)
})

test(
  'parley campaigns drafts one, sends it, and says what became of it',
  async () => {
    const { _id: person } = await one(['people', 'apply', fileOf('joao.json', PERSON)])
    const campaign = {
      ...{ name: 'Summer', channel: 1, template: { name: 'welcome_offer', language: 'pt_BR' } },
      ...{ variables: [{ attribute: 'name' }, { text: '20%' }], audience: { people: [person] } },
      requiresConsent: false,
    }
    const id = String((await one(['campaigns', 'apply', fileOf('summer.json', campaign)]))._id)
    expect(await one(['campaigns', 'estimate', id])).toMatchObject({ audience: 1, recipients: 1 })
    await one(['campaigns', 'apply', fileOf('change.json', { name: 'Late summer' }), id])
    expect((await ana.run(['campaigns', 'list', '--state', 'draft'])).stdout).toBe(
      `${id}  draft      Late summer\n`,
    )
    const refused = await ana.run(['campaigns', 'resume', id])
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('campaign_state')])
    await one(['campaigns', 'schedule', id])
    const params = { path: { id } }
    await eventually(async () => {
      const { state } = await succeeded(world.client.api.GET('/rest/campaigns/{id}', { params }))
      return state === 'finished'
    })
    expect(await one(['campaigns', 'show', id])).toMatchObject({ state: 'finished', name: 'Late summer' })
    expect(await one(['campaigns', 'results', id])).toMatchObject({ audience: 1, difference: 0 })
    const file = join(ana.folder, 'summer.ndjson')
    expect((await ana.run(['campaigns', 'export', id, file])).stdout).toBe(`Written to ${file}.\n`)
    const { stdout } = await ana.run(['campaigns', 'export', id])
    expect(stdout).toBe(readFileSync(file, 'utf8'))
    expect(stdout).toMatch(/"end":true,"recipients":1}\n$/)
    const history = (await one(['campaigns', 'history', id])).data as { operation: string }[]
    expect(history.at(-1)?.operation).toBe('created')
    expect((await ana.run(['campaigns', 'delete', id, '--yes'])).code).toBe(0)
    expect((await ana.run(['campaigns', 'show', id])).code).toBe(5)
    expect((await ana.run(['campaigns', 'show', 'x'])).code).toBe(6)
  },
  RUN_MS,
)
