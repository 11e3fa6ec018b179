import { expect, test } from '@jest/globals'
import { systemForTests } from './gateway-system.ts'

const ORIGIN = 'https://console.example.com'
const system = systemForTests({ CORS_ORIGINS: ORIGIN })

const login = (language: string | undefined, body: object) =>
  system.call('POST', '/api/auth/login', {
    body,
    headers: { origin: ORIGIN, ...(language !== undefined && { 'accept-language': language }) },
  })
const WRONG = { username: 'nobody@example.com', password: 'correct horse battery staple' }

test('a problem of a service is in the language that is asked for, with the same code', async () => {
  const { status, json, headers } = await login('fr, pt;q=0.8, en;q=0.5', WRONG)
  expect([status, json.code, json.type]).toEqual([
    401,
    'invalid_credentials',
    expect.stringContaining('invalid_credentials'),
  ])
  expect(json.title).toBe('O nome de usuário ou a senha está errado')
  expect(headers.get('content-language')).toBe('pt-BR')
  expect(headers.get('vary')?.split(', ')).toEqual(expect.arrayContaining(['Origin', 'Accept-Language']))
})

test('what is wrong with a field, too', async () => {
  const { status, json } = await login('es-MX', { username: 'ana@example.com' })
  expect([status, json.title]).toEqual([422, 'La petición no cumple su esquema'])
  expect(json.errors).toContainEqual(
    expect.objectContaining({ path: '/password', code: 'invalid_type', message: 'es obligatorio' }),
  )
})

test('so is a problem of the gateway', async () => {
  const headers = { 'accept-language': 'es' }
  const { status, json } = await system.call('GET', '/rest/jobs/1', { headers })
  expect([status, json.title]).toEqual([401, 'Se requiere un token de acceso válido'])
})

test('without a language it is in English, as in one that is not there', async () => {
  for (const language of [undefined, 'fr', '*', 'pt;q=0']) {
    const { json, headers } = await login(language, WRONG)
    expect(json.title).toBe('The user name or the password is wrong')
    expect(headers.get('content-language')).toBe('en')
  }
})
