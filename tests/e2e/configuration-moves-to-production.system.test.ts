import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createParley, type Parley as ParleyClient } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import { type Parley, startParley } from '@parley/local/testing/start-parley'

let system: Parley
let staging: ParleyClient['api']
let production: ParleyClient['api']

async function register(namespace: string): Promise<ParleyClient['api']> {
  const body = {
    name: 'Ana Souza',
    email: `${namespace}@example.com`,
    phone: '+5511999990000',
    password: 'correct horse battery staple',
    namespace,
  }
  const { accessToken } = await succeeded(
    createParley({ url: system.url }).api.POST('/api/auth/register', { body }),
  )
  return createParley({ url: system.url, token: accessToken }).api
}

beforeAll(async () => {
  system = await startParley()
  staging = await register('staging')
  production = await register('production')
})
afterAll(() => system.close(), 60_000)

const at = (id: number) => ({ path: { id } })

test('a team builds an assistant, finds its mistake, mends it and takes it to production', async () => {
  const step = { description: '', instructions: 'Ask for the name.', submitWhen: 'the name is known' }
  const first = await succeeded(staging.POST('/rest/steps', { body: { ...step, name: 'Name', next: 2 } }))
  const workflow = { name: 'Onboarding', description: '', steps: [first._id], firstStep: first._id }
  const { _id } = await succeeded(staging.POST('/rest/workflows', { body: workflow }))
  const job = { role: 'Guide', goal: 'Onboard', description: '', defaultWorkflow: _id }
  await succeeded(staging.PUT('/rest/jobs/{id}', { params: at(1), body: job }))
  const ana = { name: 'Ana', description: '', backstory: 'Patient.', job: 1 }
  await succeeded(staging.PUT('/rest/assistant/{id}', { params: at(1), body: ana }))

  const findings = await succeeded(staging.GET('/rest/check'))
  expect(findings.data).toMatchObject([{ code: 'dangling_reference', resource: 'steps', path: '/next' }])
  await succeeded(staging.PATCH('/rest/steps/{id}', { params: at(first._id), body: { next: null } }))
  expect((await succeeded(staging.GET('/rest/check'))).data).toEqual([])

  const body = await succeeded(staging.GET('/rest/export'))
  const dry = await succeeded(
    production.POST('/rest/import', { params: { query: { dryRun: 'true' } }, body }),
  )
  expect(dry.summary).toEqual({ create: 4, update: 0, unchanged: 0 })
  expect((await succeeded(production.GET('/rest/steps'))).data).toEqual([])
  await succeeded(production.POST('/rest/import', { body }))
  expect(await succeeded(production.GET('/rest/export'))).toEqual(body)

  const populate = { query: { _populate: 'job' }, ...at(1) }
  const moved = await succeeded(production.GET('/rest/assistant/{id}', { params: populate }))
  expect(moved).toMatchObject({ name: 'Ana', job: { _id: 1, defaultWorkflow: _id } })
})

test('what is refused says why, in one form', async () => {
  const missing = await staging.GET('/rest/jobs/{id}', { params: at(77) })
  expect([missing.response.status, missing.error?.code]).toEqual([404, 'not_found'])
  const wrong = { role: 'Guide', goal: 'Onboard', description: '', typo: true }
  const refused = await staging.POST('/rest/jobs', { body: wrong })
  expect(refused.error).toMatchObject({ code: 'validation_failed', errors: [{ code: 'unrecognized_keys' }] })
  const taken = await staging.DELETE('/rest/jobs/{id}', { params: at(1) })
  expect(taken.error).toMatchObject({
    code: 'still_referenced',
    referrers: [{ resource: 'assistant', _id: 1 }],
  })
  const { error } = await createParley({ url: system.url }).api.GET('/rest/jobs')
  expect(error?.code).toBe('unauthenticated')
})
