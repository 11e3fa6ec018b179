import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Parley as Client, createParley } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import { type Parley, startParley } from '@parley/local/testing/start-parley'
import { callClient, findGenerator, generateClient, generators } from './generators.ts'

const USER = { username: 'ana@example.com', password: 'correct horse battery staple' }
let system: Parley
let client: Client
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-generated-'))
  system = await startParley({ services: ['identity', 'configuration', 'gateway'] })
  const body = { name: 'Ana', email: USER.username, phone: '1', password: USER.password, namespace: 'acme' }
  await succeeded(createParley({ url: system.url }).api.POST('/api/auth/register', { body }))
  client = createParley({ url: system.url, login: USER })
})
afterAll(async () => {
  await system.close()
  rmSync(folder, { recursive: true })
})

test.each(generators)(
  '$name generates a client without a warning, which logs in, creates and lists; without $toolchain, or its packages: nothing is generated',
  async (generator) => {
    // In CI it is installed where it is missing and can be: once for a checkout.
    const { directory, ...why } = await findGenerator(generator, { install: process.env.CI !== undefined })
    if (directory === undefined)
      return console.log(`No client is generated here: ${(why as { reason: string }).reason}`)
    const document = await (await fetch(system.url + generator.document)).text()
    const own = mkdtempSync(join(folder, 'client-'))
    const { stderr } = await generateClient(generator, { directory, document, folder: own })
    expect(stderr).toBe('')

    const env = { PARLEY_URL: system.url, PARLEY_USER: USER.username, PARLEY_PASSWORD: USER.password }
    const printed = JSON.parse(await callClient(generator, { directory, folder: own, env }))
    const path = { id: printed.created }
    const step = await succeeded(client.api.GET('/rest/steps/{id}', { params: { path } }))
    expect(step.description).toBe('Ask for the address')
    expect(printed.listed).toEqual([step._id])
  },
  1_200_000,
)
