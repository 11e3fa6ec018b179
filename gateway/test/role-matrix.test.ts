import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { buildApp } from '@parley/configuration/app'
import { config } from '@parley/configuration/config'
import { freshDatabase, testServers } from '@parley/local/testing/test-servers'
import { baseConfig, parseConfig } from '@parley/shared/config'
import { createLog } from '@parley/shared/log'
import { DEFAULT_ROLES } from '@parley/shared/permission/default-roles'
import type { Service } from '@parley/shared/service-app'
import mongoose from 'mongoose'
import { z } from 'zod'
import { operations } from '../../docs/permission-operations.ts'
import { mayByDefault, renderPermissionsPage } from '../../docs/permissions-page.ts'
import { untilReady } from '../../services/identity/test/identity-server.ts'
import { type GatewaySystem, listen, startSystem, stop } from './gateway-system.ts'

test('the page has the table of what the roles come to (npm run docs writes it)', () => {
  const page = readFileSync(new URL('../../docs/permissions.md', import.meta.url), 'utf8')
  expect(page).toBe(renderPermissionsPage(page))
})

describe('every operation of identity and configuration, with the role', () => {
  const roles = DEFAULT_ROLES.map(({ name }) => name)
  let system: GatewaySystem
  let configuration: { service: Service; server: Server; drop(): Promise<void> }
  const tokens = new Map<string, string>()

  beforeAll(async () => {
    system = await startSystem()
    configuration = await startConfigurationBehind(system)
    const { accessToken } = await system.register()
    for (const role of roles) {
      const body = { name: role, role }
      const { json } = await system.call('POST', '/api/auth/tokens', { token: accessToken, body })
      tokens.set(role, json.token)
    }
  }, 150_000)
  afterAll(async () => {
    await stop(configuration.server)
    await configuration.service.close()
    await configuration.drop()
    await system.close()
  })

  const called = operations.filter(({ service }) => service === 'identity' || service === 'configuration')
  test.each(roles)(
    '%s',
    async (role) => {
      const token = String(tokens.get(role))
      for (const operation of called) {
        const { method, path } = operation
        const body = method === 'GET' || method === 'DELETE' ? undefined : {}
        const { status } = await system.call(method, path.replace('{id}', '9'), { token, body })
        const allowed = status !== 403 && status !== 401 && status < 500
        expect([method, path, allowed]).toEqual([method, path, mayByDefault(role, operation)])
      }
    },
    60_000,
  )
})

/** Puts the real configuration service in the place of the server that stands for it. */
async function startConfigurationBehind({ keys, identity, backends }: GatewaySystem) {
  const { mongoUrl } = await testServers()
  const database = freshDatabase('configuration')
  const environment = parseConfig(z.object({ ...baseConfig, ...config }), {
    NODE_ENV: 'test',
    PORT: '0',
    SERVICE_KEY: JSON.stringify(keys.own.configuration),
    SERVICE_JWKS: JSON.stringify(keys.jwks),
    MONGO_URL: mongoUrl,
    MONGO_DATABASE: database,
    IDENTITY_URL: identity.url,
  })
  const service = await buildApp(environment, createLog({ service: 'configuration', level: 'silent' }))
  await stop(backends.configuration.server)
  const server = createServer(service.app)
  await untilReady(await listen(server, backends.configuration.url))
  const drop = async () => {
    const client = await mongoose.mongo.MongoClient.connect(mongoUrl)
    await client.db(database).dropDatabase()
    await client.close()
  }
  return { service, server, drop }
}
