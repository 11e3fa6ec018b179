import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { succeeded } from '@parley/client/parley-error'
import { type CliWorld, type Somebody, signedIn, startCliWorld } from './cli-world.ts'

let world: CliWorld
let ana: Somebody
beforeAll(async () => {
  world = await startCliWorld()
  ana = await signedIn(world)
})
afterAll(async () => {
  ana.remove()
  await world.close()
})

describe('parley export and import', () => {
  test('a dry run shows each field before and after, and changes nothing', async () => {
    const file = join(ana.folder, 'acme.json')
    expect((await ana.run(['export', file])).code).toBe(0)
    const exported = readFileSync(file, 'utf8')
    expect(exported).not.toContain('secret-token')
    expect((await ana.run(['import', file, '--dry-run'])).stdout).toBe(
      '0 would be created, 0 would be updated, 1 unchanged.\n',
    )
    const changed = JSON.parse(exported)
    changed.resources.channels[0].name = 'Sales'
    changed.resources.steps = [{ _id: 9, name: 'Ask', description: '', instructions: '', submitWhen: '' }]
    writeFileSync(file, JSON.stringify(changed))
    const { code, stdout } = await ana.run(['import', file, '--dry-run'])
    expect(code).toBe(0)
    expect(stdout).toContain('~ channels/1\n  - /name "Support"\n  + /name "Sales"\n')
    expect(stdout).toContain('+ steps/9\n')
    expect(stdout).toContain('1 would be created, 1 would be updated, 0 unchanged.\n')
    expect((await ana.atTerminal(['import', file, '--dry-run'])).screen).toContain(
      '\u001b[31m  - /name "Support"',
    )
    const params = { path: { id: 1 } }
    expect((await succeeded(world.client.api.GET('/rest/channels/{id}', { params }))).name).toBe('Support')
    expect((await ana.run(['import', file])).stdout).toContain('1 created, 1 updated, 0 unchanged.')
    expect((await succeeded(world.client.api.GET('/rest/channels/{id}', { params }))).name).toBe('Sales')
  })

  test('a file with secrets replaces one that others could read, and is readable by its user only', async () => {
    const file = join(ana.folder, 'secrets.json')
    writeFileSync(file, 'before', { mode: 0o644 })
    expect((await ana.run(['export', file, '--secrets'])).code).toBe(0)
    expect(readFileSync(file, 'utf8')).toContain('secret-token')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const left = readdirSync(ana.folder).filter((name) => name.startsWith('secrets.json.'))
    expect(left).toEqual([])
  })

  test('output that can not be written ends with 70 and says so; one that nobody reads any more ends with 0', async () => {
    const full = { code: 70, stdout: '', stderr: 'error: The output can not be written (ENOSPC).\n' }
    expect(await ana.piped(['export'], '> /dev/full')).toEqual(full)
    expect(await ana.piped(['export'], '| true; exit $PIPESTATUS')).toMatchObject({
      code: 0,
      stderr: '',
    })
    const { code, stderr } = await ana.run(['export', join(ana.folder, 'missing', 'acme.json')])
    expect([code, stderr]).toEqual([70, expect.stringContaining('acme.json can not be written (ENOENT)')])
  })

  test('a file that is not there ends with 5, and one that is no configuration with 6', async () => {
    expect((await ana.run(['import', 'nothing.json'])).code).toBe(5)
    expect((await ana.run(['import', '-'], { input: '{"version":2}' })).code).toBe(6)
  })
})

describe('parley check', () => {
  test('lists what is wrong and ends with 1', async () => {
    const body = { name: 'Ana', description: '', backstory: '', job: 7 }
    await succeeded(world.client.api.PUT('/rest/assistant/{id}', { params: { path: { id: 1 } }, body }))
    const { code, stdout } = await ana.run(['check'])
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining('assistant/1/job dangling_reference there is no jobs/7\n'),
    ])
    const found = await ana.json(['check'])
    expect(found.map(({ code, resource }) => `${code} ${resource}`)).toContain('dangling_reference assistant')
  })
})

describe('parley doctor', () => {
  test('examines gateway, clock, dependencies, token and webhooks', async () => {
    const found = await ana.json(['doctor'])
    const results = Object.fromEntries(found.map(({ check, result }) => [check, result]))
    expect(results).toMatchObject({ gateway: 'ok', clock: 'ok', token: 'ok', dependencies: 'ok' })
    expect(found.find(({ check }) => check === 'webhook')).toMatchObject({
      result: 'bad',
      text: expect.stringContaining('support-line'),
    })
    expect((await ana.run(['doctor'])).code).toBe(1)
  })

  test("asks the provider for a channel's number and template", async () => {
    const of = async (...args: string[]) => {
      const found = await ana.json(['doctor', '--channel', 'support-line', ...args])
      return found.filter(({ check }) => ['number', 'template'].includes(String(check)))
    }
    const number = {
      check: 'number',
      result: 'ok',
      text: '+1001 Simulated, quality GREEN, 80 messages a second',
    }
    const all = await ana.json(['doctor', '--channel', 'support-line'])
    expect(all.slice(-3)).toEqual([
      { check: 'access token', result: 'ok', text: 'The provider takes it.' },
      number,
      { check: 'subscription', result: 'ok', text: 'Updates of the account go to Simulated app.' },
    ])
    expect(await of('--template', 'order_update', '--language', 'pt_BR')).toEqual([
      number,
      { check: 'template', result: 'ok', text: 'order_update is approved in pt_BR' },
    ])
    expect(await of('--template', 'hello_world', '--language', 'pt_BR')).toEqual([
      number,
      { check: 'template', result: 'bad', text: 'hello_world is not there in pt_BR, but in en_US.' },
    ])
  })

  test('says what is wrong with a token, and with an address', async () => {
    const env = { PARLEY_URL: world.system.url, PARLEY_TOKEN: 'wrong' }
    const found = await ana.json(['doctor'], { env })
    expect(found.at(-1)).toMatchObject({ check: 'token', result: 'bad' })
    const nowhere = await ana.run(['doctor'], {
      env: { PARLEY_URL: 'http://127.0.0.1:1', PARLEY_TOKEN: 't' },
    })
    expect([nowhere.code, nowhere.stdout]).toEqual([1, expect.stringContaining('does not respond')])
  })
})
