import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { parseConfig, randomInProduction, safeInProduction } from '@parley/shared/config'
import { z } from 'zod'

const folder = mkdtempSync(join(tmpdir(), 'parley-config-'))
afterAll(() => rmSync(folder, { recursive: true }))

const fileWith = (name: string, text: string) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const schema = z.object({
  SECRET: safeInProduction(z.base64().optional(), randomInProduction),
  URL: z.url(),
})

test.each([
  ['without a line break', 'http://a/'],
  ['with one at its end', 'http://a/\n'],
  ['with that of Windows', 'http://a/\r\n'],
])('a setting is read from the file that <key>_FILE names, %s', (_name, text) => {
  expect(parseConfig(schema, { URL_FILE: fileWith('url', text) })).toEqual({ URL: 'http://a/' })
})

test('what is in a file is checked like what is in the environment', () => {
  const environment = { NODE_ENV: 'production', URL: 'http://a/', SECRET_FILE: fileWith('secret', 'AAAA') }
  expect(() => parseConfig(schema, environment)).toThrow(/SECRET: is not random/)
})

test('a file that can not be read, and a setting given in both ways, are named without their values', () => {
  const environment = {
    SECRET_FILE: join(folder, 'none'),
    URL: 'http://secret/',
    URL_FILE: fileWith('url', 'x'),
  }
  const parse = () => parseConfig(schema, environment)
  expect(parse).toThrow(/SECRET_FILE: can not be read \(ENOENT\)/)
  expect(parse).toThrow(/URL_FILE: is set, and URL as well/)
  expect(parse).not.toThrow(/secret\//)
})
