import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Caller } from '@parley/shared/internal-token'
import type { PermissionEntry } from '@parley/shared/permission/entry'
import { type CampaignWorld, type Line, START_MS, startCampaignWorld } from './campaign-world.ts'

let world: CampaignWorld
let line: Line
let hidden: Line

beforeAll(async () => {
  world = await startCampaignWorld()
  line = await world.line()
  hidden = await world.line()
  await world.ask('campaigns', 'POST', '/rest/templates/sync')
  for (const id of ['vips', 'secret'])
    await world.ask('campaigns', 'PUT', `/rest/segments/${id}`, { name: id, filter: {} })
}, START_MS)
afterAll(() => world.close(), START_MS)

const RULES: Record<string, (line: Line) => string> = {
  channels: ({ channel }) => `{{doc._id}} == ${channel}`,
  templates: () => "{{doc.name}} == 'welcome_offer'",
  segments: () => "{{doc._id}} == 'vips'",
  people: () => "{{doc.name}} == 'nobody'",
}

/** A caller who writes campaigns and messages, and reads each resource by one of these rules: all without a rule. */
async function callerWith(rules: Record<string, string>): Promise<Caller> {
  const entry = (resource: string, read: string): PermissionEntry => ({
    ...{ schema: `{{resource}} == '${resource}'`, read, write: 'false' },
  })
  const permissions = [
    { schema: "['campaigns','messages'].indexOf({{resource}}) >= 0", read: 'true', write: 'true' },
    ...Object.keys(RULES).map((resource) => entry(resource, rules[resource] ?? 'true')),
  ]
  const name = randomUUID().toUpperCase()
  const { json, text } = await world.ask('identity', 'POST', '/rest/roles', { name, permissions })
  if (json._id === undefined) throw new Error(text)
  const { account } = world.caller
  return { ...world.caller, account: { ...account, _id: 999 }, role: { _id: json._id, name, version: 1 } }
}

const body = (more: object) => ({
  ...{ name: 'A campaign', channel: line.channel, variables: [{ text: 'a' }, { text: 'b' }] },
  ...{ template: { name: 'welcome_offer', language: 'pt_BR' }, audience: { segment: 'vips' }, ...more },
})
const NO_IMPORT = '0198c0de-7a00-7000-8000-3f6d5a4b2c11'

async function importOfAnother(): Promise<string> {
  const response = await fetch(`${world.parley.services.campaigns.url}/rest/people/imports`, {
    method: 'POST',
    headers: {
      authorization: world.parley.authorization('gateway', 'campaigns', world.caller),
      ...{ 'content-type': 'text/csv', 'idempotency-key': randomUUID() },
    },
    body: 'phone\n+5511988887777\n',
  })
  return ((await response.json()) as { _id: string })._id
}

/** The reference of each resource: its place, a name that exists and is hidden, and one that does not exist. */
const REFERENCES: [string, string, () => Promise<object>, () => object][] = [
  ['channels', '/channel', async () => ({ channel: hidden.channel }), () => ({ channel: 4_711 })],
  [
    'templates',
    '/template',
    async () => ({ template: { name: 'invoice', language: 'pt_BR' } }),
    () => ({ template: { name: 'nothing', language: 'pt_BR' } }),
  ],
  [
    'segments',
    '/audience/segment',
    async () => ({ audience: { segment: 'secret' } }),
    () => ({ audience: { segment: 'nothing' } }),
  ],
  [
    'people',
    '/audience/import',
    async () => ({ audience: { import: await importOfAnother() } }),
    () => ({ audience: { import: NO_IMPORT } }),
  ],
]

describe.each(REFERENCES)('what a role may not read of %s', (resource, path, there, missing) => {
  const limited = () => callerWith({ [resource]: RULES[resource]?.(line) ?? '' })
  const draft = async (as: Caller, more: object) => {
    const { status, json } = await world.ask('campaigns', 'POST', '/rest/campaigns', body(more), as)
    const errors: { path: string }[] = json.errors ?? []
    return [status, json.code, errors.map((error) => error.path)]
  }

  test('is not named by a draft, with the same answer whether it exists or not', async () => {
    const as = await limited()
    expect(await draft(as, {})).toEqual([200, undefined, []])
    const refused = [403, 'reference_forbidden', expect.arrayContaining([path])]
    expect(await draft(as, await there())).toEqual(refused)
    expect(await draft(as, missing())).toEqual(await draft(as, await there()))
    expect(await draft(await callerWith({ [resource]: 'false' }), await there())).toEqual(refused)
    expect(await draft(world.caller, missing())).toEqual([200, undefined, []])
  })

  test('is not named by a change; what stood there may stay, and is not sent by who may not read it', async () => {
    const as = await limited()
    const change = async (id: string, patch: object) =>
      (await world.ask('campaigns', 'PATCH', `/rest/campaigns/${id}`, patch, as)).status
    const own = await world.draft(body({}))
    expect(await change(own, await there())).toBe(403)
    expect(await change(own, missing())).toBe(403)
    const given = await world.draft(body(await there()))
    expect(await change(given, { name: 'Another name' })).toBe(200)
    const asked = ['estimate', 'preview', 'schedule'].map((action) =>
      world.ask('campaigns', 'POST', `/rest/campaigns/${given}/${action}`, undefined, as),
    )
    for (const { status, json } of await Promise.all(asked))
      expect([status, json.code]).toEqual([403, 'reference_forbidden'])
  })
})

test('a role is explained with what campaigns give it', async () => {
  const { role } = await callerWith({})
  const { json } = await world.ask('identity', 'POST', `/rest/roles/${role._id}/explain`, {
    resource: 'templates',
  })
  expect(json.references).toEqual([expect.stringContaining('sends these templates to these people')])
})
